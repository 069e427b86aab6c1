"""Words that people use for the columns, units and states of job tables."""

from __future__ import annotations

#: status words of schedulers, in small letters -> ours
STATUS_WORDS = {
    **dict.fromkeys(
        "completed complete success succeeded successful pass passed done finished terminated "
        "ok cd exited".split(),
        "completed",
    ),
    **dict.fromkeys("failed fail failure error errored crashed f bf boot_fail".split(), "failed"),
    **dict.fromkeys(
        "cancelled canceled killed kill aborted abort stopped deleted revoked ca".split(),
        "cancelled",
    ),
    **dict.fromkeys("timeout timed_out timedout time_limit deadline dl to".split(), "timeout"),
    **dict.fromkeys("oom out_of_memory oomkilled oom_crash oom_killed".split(), "oom"),
    **dict.fromkeys("node_fail nodefail node_failure lost nf".split(), "node_fail"),
    **dict.fromkeys("preempted evicted interrupted requeued pr".split(), "preempted"),
    **dict.fromkeys("running active started r completing cg suspended".split(), "running"),
    **dict.fromkeys("pending queued waiting submitted created held pd".split(), "pending"),
    "unknown": "unknown",
}

#: word at the end of a column's name -> unit of a mapping
UNIT_WORDS = {
    **dict.fromkeys("s sec secs second seconds".split(), "s"),
    **dict.fromkeys("ms msec millis milliseconds millisec".split(), "ms"),
    **dict.fromkeys("us usec microseconds micros".split(), "us"),
    **dict.fromkeys("ns nsec nanoseconds nanos".split(), "ns"),
    **dict.fromkeys("min mins minute minutes".split(), "min"),
    **dict.fromkeys("h hr hrs hour hours".split(), "h"),
    **dict.fromkeys("day days".split(), "d"),
    **dict.fromkeys("b byte bytes".split(), "bytes"),
    **dict.fromkeys("kb kbytes kilobytes".split(), "KB"),
    **dict.fromkeys("mb mbytes megabytes".split(), "MB"),
    **dict.fromkeys("gb gbytes gigabytes".split(), "GB"),
    **dict.fromkeys("tb terabytes".split(), "TB"),
    **dict.fromkeys("kib ki".split(), "KiB"),
    **dict.fromkeys("mib mi".split(), "MiB"),
    **dict.fromkeys("gib gi".split(), "GiB"),
    **dict.fromkeys("tib ti".split(), "TiB"),
    **dict.fromkeys("milli millicores mcores mcpu".split(), "milli"),
    **dict.fromkeys("pct perc percent percentage".split(), "percent"),
    **dict.fromkeys("frac fraction ratio share".split(), "fraction"),
}

#: word in a column's name -> the idea it stands for; an empty idea is filler
IDEAS = {
    **dict.fromkeys("mem memory ram rss speicher arbeitsspeicher memoire".split(), "memory"),
    **dict.fromkeys("gpu gpus ngpu ngpus accelerator accelerators gpunum".split(), "gpu"),
    **dict.fromkeys("cpu cpus ncpu ncpus core cores vcpu vcpus ncores procs slots kern kerne "
                    "coeurs".split(), "cpu"),
    **dict.fromkeys("req request requested requests plan planned ask asked reserved "
                    "angefordert reserviert demande demandee".split(), "request"),
    **dict.fromkeys("submit submitted submission submittime queued arrival arrived arrive created "
                    "creation create enqueued enqueue issued abgeschickt eingereicht eingestellt "
                    "soumis soumission".split(), "submit"),
    **dict.fromkeys("start started begin began launch launched scheduled starttime "
                    "beginn gestartet debut".split(), "start"),
    **dict.fromkeys("end ended finish finished complete completed completion stop stopped deletion "
                    "deleted endtime ende beendet fin".split(), "end"),
    **dict.fromkeys("duration dur runtime elapsed realtime run execution exec took laufzeit "
                    "dauer duree".split(), "duration"),
    **dict.fromkeys("wait waiting waited queueing queuing pending delay waittime wartezeit "
                    "attente".split(), "wait"),
    **dict.fromkeys("limit timelimit timeout walllimit".split(), "limit"),
    **dict.fromkeys("walltime".split(), "walltime"),
    **dict.fromkeys("wall wallclock".split(), "wall"),
    **dict.fromkeys("alloc allocated allocation".split(), "alloc"),
    **dict.fromkeys("peak max maximum maximal highest hwm spitze".split(), "peak"),
    **dict.fromkeys("mean avg average ave mittel mittelwert moyenne".split(), "mean"),
    **dict.fromkeys("use used usage util utilization utilisation usages busy current "
                    "duty genutzt benutzt belegt verbraucht utilise utilisee".split(), "use"),
    **dict.fromkeys("user username owner uid submitter userid who benutzer nutzer "
                    "utilisateur".split(), "user"),
    **dict.fromkeys("group account project team tenant org organization groupid gruppe "
                    "projekt konto projet groupe".split(), "group"),
    **dict.fromkeys("queue partition vc pool namespace cluster warteschlange".split(),
                    "queue"),
    **dict.fromkeys("status state stat phase outcome result zustand etat".split(), "status"),
    **dict.fromkeys("priority prio".split(), "priority"),
    **dict.fromkeys("type model spec kind sku".split(), "type"),
    **dict.fromkeys("instances instance replicas workers inst replica".split(), "instances"),
    **dict.fromkeys("name jobname title".split(), "name"),
    **dict.fromkeys("id jobid key uuid sn ident".split(), "id"),
    **dict.fromkeys("job jobs pod auftrag tache".split(), "job"),
    **dict.fromkeys("task role process stage".split(), "task"),
    **dict.fromkeys("script program executable command cmd cmdline entrypoint programm skript "
                    "programme".split(), "script"),
    **dict.fromkeys("workload app application workflow framework experiment pipeline flow "
                    "dag".split(), "workload"),
    **dict.fromkeys("read reads".split(), "read"),
    **dict.fromkeys("write writes written".split(), "write"),
    **dict.fromkeys("node host hostname machine server nodename".split(), "node"),
    **dict.fromkeys("container series vm service".split(), "series"),
    **dict.fromkeys("parent workflowid runid".split(), "parent"),
    **dict.fromkeys("cap capacity".split(), "capacity"),
    **dict.fromkeys("timestamp ts datetime epoch".split(), "timestamp"),
    # of metrics of Kubernetes and of NVIDIA's exporter, and of logs of PBS and Grid Engine
    **dict.fromkeys("working set resident kube dcgm fi dev".split(), ""),
    **dict.fromkeys("resource resources list ru".split(), ""),
    **dict.fromkeys("time at date num n number count nr of total the in on utc sum per step "
                    "unix".split(), ""),
}  # fmt: skip

#: one column name -> several words, where people write them together
JOINED = {
    "jobid": "job id", "jobname": "job name", "numgpus": "num gpus", "numgpu": "num gpu",
    "gpucount": "gpu count", "numcpus": "num cpus", "cpucount": "cpu count",
    "submittime": "submit time", "starttime": "start time", "endtime": "end time",
    "submitat": "submit at", "reqmem": "req mem", "reqcpus": "req cpus", "maxrss": "max rss",
    "averss": "avg rss", "gputype": "gpu type", "gpumodel": "gpu model", "waittime": "wait time",
    "timelimit": "time limit", "userid": "user id", "username": "user name",
    "rss": "mem used", "maxmem": "max mem", "peakmem": "peak mem", "memmax": "max mem",
    "mempeak": "peak mem", "peakrss": "peak mem", "memused": "mem used", "usedmem": "mem used",
    "avgmem": "avg mem", "memreq": "req mem", "cpureq": "req cpu", "gpureq": "req gpu",
    "jobtype": "job type", "memlimit": "mem limit", "queuetime": "wait time",
    "gpuutil": "gpu util", "cpuutil": "cpu util", "nodeid": "node id", "podname": "pod name",
    "taskname": "task name", "walllimit": "wall limit", "ramgb": "ram gb", "ntasks": "n tasks",
    "vram": "gpu mem", "fb": "gpu mem", "maxvmem": "peak mem", "qtime": "submit time",
    "qdate": "submit date", "jobdefinition": "job type",
}  # fmt: skip

#: table -> column -> sets of ideas that name it, the plainest first
NAMED_BY_IDEAS = {
    "jobs": {
        "job_id": "job+id id job job+name name",
        "parent_id": "parent parent+id duration+id workload+duration+id",
        "name": "name job+name duration+name job",
        "user": "user user+id user+name",
        "group": "group group+id group+name",
        "queue": "queue queue+id queue+name job+queue",
        "workload": "workload workload+name workload+id job+type type",
        "task": "task task+name task+id script script+name job+script",
        "submit_s": "submit submit+job timestamp",
        "start_s": "start start+job",
        "end_s": "end end+job",
        "duration_s": "duration duration+job duration+actual wall walltime walltime+use",
        "wait_s": "wait wait+duration wait+submit queue+wait",
        "status": "status status+job status+end",
        "instances": "instances instances+id task",
        "request_cpu_cores": "request+cpu cpu cpu+limit request+cpu+job alloc+cpu",
        "request_memory_gib": "request+memory memory memory+limit alloc+memory",
        "request_gpus": "request+gpu gpu gpu+limit request+gpu+job alloc+gpu",
        "gpu_type": "gpu+type request+gpu+type gpu",
        "time_limit_s": "limit limit+wall request+walltime request+duration request walltime",
        "priority": "priority",
        "cpu_mean_cores": "cpu+use cpu+mean cpu+mean+use",
        "cpu_peak_cores": "cpu+peak cpu+peak+use",
        "memory_mean_gib": "memory+use memory+mean memory+mean+use",
        "memory_peak_gib": "memory+peak memory+peak+use",
        "gpu_util_mean_pct": "gpu+use gpu+mean gpu+mean+use",
        "gpu_memory_mean_gib": "gpu+memory+mean gpu+memory+use gpu+memory+mean+use",
        "gpu_memory_peak_gib": "gpu+memory+peak gpu+memory+peak+use",
        "read_bytes": "read",
        "write_bytes": "write",
    },
    "usage": {
        "series_id": "series+id job+id series id job job+name node node+id node+name name queue "
        "instances",
        "time_s": "timestamp submit duration",
        "cpu_cores": "cpu+use cpu",
        "cpu_util_pct": "cpu+use cpu",
        "memory_gib": "memory+use memory",
        "memory_util_frac": "memory+use memory",
        "memory_limit_gib": "memory+limit",
        "gpu_util_pct": "gpu+use gpu",
        "gpu_memory_gib": "gpu+memory gpu+memory+use",
        "read_bytes_per_s": "read",
        "write_bytes_per_s": "write",
    },
    "nodes": {
        "node_id": "node+id node node+name id name",
        "cpu_cores": "cpu cpu+capacity",
        "memory_gib": "memory memory+capacity",
        "gpus": "gpu gpu+capacity",
        "gpu_type": "gpu+type type",
        "features": "features labels",
    },
}

#: where several columns mean a queue, the one whose name comes first here
QUEUE_WORDS = ("queue", "partition", "vc", "pool", "namespace", "cluster")
#: units that none of our columns can be converted from
FOREIGN_UNITS = frozenset("mhz ghz hz w watt watts j joules kwh c celsius units".split())

#: words of columns that hold an exit code, and of those that say whether a job succeeded
EXIT_CODES = frozenset("exit exitcode returncode rc".split())
SUCCESS = frozenset("success succeeded".split())
#: names that say that a value is known only once a job has run
AFTERWARDS = frozenset(
    "exit code exitcode return returncode use end peak mean wait duration start node retries retry "
    "attempt attempts error reason energy power alloc loss accuracy score metric "
    "signal rss io read write rchar wchar vmem throughput actual final oom outcome "
    "completion jct slowdown killed cost log done trained processed restarts cancelled canceled "
    "after output outputs success hit best rx tx received sent".split()
)
#: names that say that a value is known when a job is submitted
BEFOREHAND = frozenset(
    "batch lr learning rate request script image container dataset data optimizer tag tags qos "
    "constraint constraints args arguments command cmd param params config seed layers hidden "
    "epochs input inputs size class tier spot deadline disk rdma network type user group queue "
    "limit submit version branch commit sha revision region zone hyper depth width label "
    "labels".split()
)
