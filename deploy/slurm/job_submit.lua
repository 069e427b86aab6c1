--[[
Slurm's job_submit plug-in: asks Prophase what a job should ask for.

Copy to /etc/slurm/job_submit.lua, set JobSubmitPlugins=lua in slurm.conf and restart slurmctld. A site
with a job_submit.lua of its own copies this file to /etc/slurm/prophase.lua instead, loads it with
dofile("/etc/slurm/prophase.lua") before its own functions, and calls
prophase_recommend(job_desc, part_list, submit_uid) in its slurm_job_submit.

slurmctld waits for every job_submit, so most answers come from a table that the service keeps ready in
a file of its workspace, PROPHASE_TABLE: a look-up, no process and no network. Only jobs of which more
than their kind matters are asked about; that takes at most PROPHASE_SECONDS and the start of curl, the
same question is answered from memory for PROPHASE_KEEP seconds, and when the service is away nobody
asks again for PROPHASE_PAUSE seconds. Whatever goes wrong, the job is submitted as it is. Works in Lua
5.1 to 5.4.

The token is read from a file that only the Slurm user may read:
prophase serve token add slurm --valid-days 0 > /etc/slurm/prophase.token
]]

PROPHASE_URL = PROPHASE_URL or "http://127.0.0.1:8765/v1/submit/slurm"
PROPHASE_TOKEN = PROPHASE_TOKEN or "/etc/slurm/prophase.token"
-- slurm-answers of the workspace; the Slurm user must be able to read it
PROPHASE_TABLE = PROPHASE_TABLE or "/var/lib/prophase/slurm-answers"
PROPHASE_SECONDS = PROPHASE_SECONDS or 0.03
PROPHASE_KEEP = PROPHASE_KEEP or 300
PROPHASE_PAUSE = PROPHASE_PAUSE or 10
-- a line with what was done goes to slurmctld's log this often, in seconds
PROPHASE_REPORT = PROPHASE_REPORT or 60

local MOST_KEPT = 10000
-- a late answer is finished by the service all the same and is there for the next question of its
-- kind, so lateness pauses only for a moment: at most one late question a second
local CURL_TIMED_OUT, LATE_PAUSE = 28, 1
-- how often the service hears what was done, where no question tells it, in seconds
local TELL_EVERY = 60
local TEXTS = { "name", "account", "partition", "qos", "features", "reservation", "licenses", "wckey",
                "work_dir", "tres_per_node", "tres_per_job", "tres_per_task", "tres_per_socket",
                "mem_per_tres", "gres" }
local NUMBERS = { "min_nodes", "max_nodes", "num_tasks", "ntasks_per_node", "cpus_per_task", "min_cpus",
                  "min_mem_per_node", "min_mem_per_cpu", "time_limit", "shared" }
-- fields the service may change, as job_desc names them
local SETTABLE = { "pn_min_memory", "min_mem_per_cpu", "time_limit" }
local SETTABLE_TEXTS = { "mem_per_tres", "tres_per_node", "tres_per_job", "tres_per_task",
                         "tres_per_socket", "gres" }

local ESCAPED = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local UNESCAPED = { n = " ", r = " ", t = " ", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local kept, kept_count = {}, 0
local away_until, reported_at, told_at, table_missing = 0, 0, os.time(), false
-- what was done since the service was told, and since slurmctld loaded this
local unsent, counts = {}, {}

local function quoted(text)
   return '"' .. text:gsub('[%c"\\]', function(c)
      return ESCAPED[c] or string.format("\\u%04x", c:byte())
   end) .. '"'
end

-- a field of job_desc, nil if it is not there: some releases refuse names they do not know
local function value_of(record, name)
   local fine, value = pcall(function() return record[name] end)
   if fine then return value end
   return nil
end

-- numbers that are not set are the largest of their width; Lua 5.1 rounds those of 64 bits
local function is_set(number)
   return type(number) == "number" and number >= 0 and number < 9e18
      and number ~= 4294967294 and number ~= 4294967295
end

local function default_partition(part_list)
   local fine, found = pcall(function()
      for name, part in pairs(part_list) do
         if part.flag_default == 1 then return name end
      end
   end)
   if fine then return found end
   return nil
end

-- what a job says: its own words, and what Slurm will fill in where it says nothing
local function described(job_desc, part_list)
   local job = {}
   for _, name in ipairs(TEXTS) do
      local value = value_of(job_desc, name)
      if type(value) == "string" and value ~= "" then job[name] = value end
   end
   for _, name in ipairs(NUMBERS) do
      local value = value_of(job_desc, name)
      if is_set(value) then job[name] = value end
   end
   job.account = job.account or value_of(job_desc, "default_account")
   job.qos = job.qos or value_of(job_desc, "default_qos")
   job.partition = job.partition or default_partition(part_list)
   job.user_name = value_of(job_desc, "user_name")
   return job
end

local function as_json(job)
   local parts = {}
   for name, value in pairs(job) do
      if type(value) == "string" then
         parts[#parts + 1] = quoted(name) .. ":" .. quoted(value)
      else
         parts[#parts + 1] = quoted(name) .. ":" .. string.format("%.0f", value)
      end
   end
   table.sort(parts)
   return '"job":{' .. table.concat(parts, ",") .. "}"
end

-- "off" or "tell" in the job's comment (prophase=off) or in a line #PROPHASE off of its script
local function wish_of(job_desc)
   local comment, script = value_of(job_desc, "comment"), value_of(job_desc, "script")
   local wish = type(comment) == "string" and comment:match("prophase[=:](%a+)")
   if not wish and type(script) == "string" then
      wish = ("\n" .. script):match("\n#PROPHASE[ \t]+(%a+)")
   end
   return wish or nil
end

local function count(outcome)
   unsent[outcome] = (unsent[outcome] or 0) + 1
   counts[outcome] = (counts[outcome] or 0) + 1
end

-- curl reads everything from a file: nothing of the job reaches a shell
local function curl_file(body, seconds)
   local file = os.tmpname()
   local out = io.open(file, "w")
   if not out then return nil end
   local header = ""
   local token = io.open(PROPHASE_TOKEN)
   if token then
      local words = token:read("*l") or ""
      token:close()
      header = 'header = "Authorization: Bearer ' .. words:gsub("%s", "") .. '"\n'
   end
   out:write('url = "', PROPHASE_URL, '"\nmax-time = ', tostring(seconds),
             "\nsilent\nfail\nnoproxy = \"*\"\n", header,
             'header = "Content-Type: application/json"\ndata = ', quoted(body), "\n")
   out:close()
   return file
end

local function sent(body)
   local file = curl_file(body, PROPHASE_SECONDS)
   if not file then return "", 1 end
   -- its exit code stands behind the answer: Lua 5.1 does not tell it
   local pipe = io.popen("curl --config " .. file .. ' 2>/dev/null; echo "exit $?"')
   local answer = pipe and pipe:read("*a") or ""
   if pipe then pipe:close() end
   os.remove(file)
   local said, code = answer:match("^(.*)exit (%d+)%s*$")
   return said or "", tonumber(code or 1)
end

local function text_in(answer, name)
   local from = answer:match('"' .. name .. '":%s*"(.*)')
   if not from then return nil end
   local parts, place = {}, 1
   while place <= #from do
      local c = from:sub(place, place)
      if c == '"' then return table.concat(parts) end
      if c == "\\" then
         local code = from:match("^u(%x%x%x%x)", place + 1)
         parts[#parts + 1] = code and "?" or UNESCAPED[from:sub(place + 1, place + 1)] or ""
         place = place + (code and 6 or 2)
      else
         parts[#parts + 1] = c
         place = place + 1
      end
   end
   return nil
end

local function parsed(answer)
   local found = { outcome = text_in(answer, "outcome") or "failed", tell = text_in(answer, "tell"),
                   note = text_in(answer, "note"), change = {} }
   if not answer:match('"apply":%s*true') then return found end
   local change = answer:match('"job":%s*(%b{})') or "{}"
   for _, name in ipairs(SETTABLE) do
      found.change[name] = tonumber(change:match('"' .. name .. '":%s*(%d+)'))
   end
   for _, name in ipairs(SETTABLE_TEXTS) do found.change[name] = text_in(change, name) end
   return found
end

-- what the service has not heard of yet; it is taken to hear it now
local function what_was_done()
   local done = {}
   for outcome, number in pairs(unsent) do done[#done + 1] = quoted(outcome) .. ":" .. number end
   unsent = {}
   return '"done":{' .. table.concat(done, ",") .. "}"
end

-- tell the service now and then, in the background: jobs answered from the table do not wait for it
local function tell_service()
   local now = os.time()
   if now - told_at < TELL_EVERY or now < away_until or not next(unsent) then return end
   told_at = now
   local file = curl_file("{" .. what_was_done() .. "}", 5)
   local pipe = file and io.popen("(curl --config " .. file .. "; rm -f " .. file
                                  .. ") </dev/null >/dev/null 2>&1 &")
   if pipe then pipe:close() end
end

-- a line in slurmctld's log now and then
local function report()
   local now = os.time()
   if now - reported_at < PROPHASE_REPORT then return end
   reported_at = now
   local parts = {}
   for outcome, number in pairs(counts) do parts[#parts + 1] = outcome .. " " .. number end
   table.sort(parts)
   slurm.log_info("prophase: since start: %s", table.concat(parts, ", "))
end

-- the answer to a question, and whether it is from memory because it was asked a short while ago;
-- or nil, and whether the service was only late
local function asked(question)
   local now = os.time()
   local held = kept[question]
   if held and now < held.until_time then return held.answer, true end
   if now < away_until then return nil, false end
   local told = unsent
   local answer, code = sent("{" .. question .. ',"brief":true,' .. what_was_done() .. "}")
   if code ~= 0 then
      -- one that was late has read it, one that is away has not
      if code ~= CURL_TIMED_OUT then unsent = told end
      if code == CURL_TIMED_OUT then
         away_until = os.time() + LATE_PAUSE
      else
         away_until = os.time() + PROPHASE_PAUSE
         slurm.log_info("prophase: no answer from %s (curl %s); jobs go as they are for %s s",
                        PROPHASE_URL, tostring(code), tostring(PROPHASE_PAUSE))
      end
      return nil, code == CURL_TIMED_OUT
   end
   local found = parsed(answer)
   if found.outcome ~= "late" then
      if kept_count >= MOST_KEPT then kept, kept_count = {}, 0 end
      kept[question] = { answer = found, until_time = os.time() + PROPHASE_KEEP }
      kept_count = kept_count + 1
   end
   return found, false
end

-- Ready answers: the rules below are those of the service, for jobs of which the kind is all that
-- matters; ready() returns nil for all others, which are asked about.

local HEAD, ENTRY = 64, 12
-- column of the job table -> field of job_desc
local FIELDS = { name = "name", group = "account", queue = "partition", user = "user_name",
                 attr_qos = "qos", attr_constraint = "features", attr_reservation = "reservation",
                 attr_licenses = "licenses", attr_wckey = "wckey", attr_workdir = "work_dir" }
-- words that are followed by a value or a running number, not by a version; from the table
local counted_words = {}
local POD = ("[bcdfghjklmnpqrstvwxz2456789]"):rep(5)
local WORDS = { https = true, lstms = true, smtps = true, xhtml = true }
local HEX = "%x%x%x%x"
local UUID = "^" .. HEX .. HEX .. "%-" .. HEX .. "%-" .. HEX .. "%-" .. HEX .. "%-" .. HEX:rep(3) .. "()"
-- a time of day behind a date, the longest first
local HOURS = {}
for _, lead in ipairs({ "[T_ -]", "" }) do
   for _, colon in ipairs({ "[:_.-]", "" }) do
      for _, second in ipairs({ "[:_.-][0-5]%d", "[0-5]%d", "" }) do
         for _, part in ipairs({ "%.%d+", "" }) do
            for _, zone in ipairs({ "Z", "" }) do
               HOURS[#HOURS + 1] = "^" .. lead .. "[0-2]%d" .. colon .. "[0-5]%d" .. second .. part
                  .. zone .. "()"
            end
         end
      end
   end
end

local function uuid_end(text, at)
   if text:find("^[0-9A-Za-z]", at - 1) and at > 1 then return nil end
   local stop = text:match(UUID, at)
   return stop and not text:find("^[0-9A-Za-z]", stop) and stop or nil
end

local function day_end(text, at)
   if at > 1 and text:find("^%d", at - 1) then return nil end
   local year, _, month, day, stop = text:match("^(%d%d%d%d)([-_./])(%d%d)%2(%d%d)()", at)
   if not year then year, month, day, stop = text:match("^(%d%d%d%d)(%d%d)(%d%d)()", at) end
   if not year or not year:find("^19") and not year:find("^20") then return nil end
   month, day = tonumber(month), tonumber(day)
   if month < 1 or month > 12 or day < 1 or day > 31 then return nil end
   for _, hour in ipairs(HOURS) do
      local later = text:match(hour, stop)
      if later and not text:find("^%d", later) then return later end
   end
   return not text:find("^%d", stop) and stop or nil
end

local function without_stamps(text)
   if not text:find("%d%d%d%d") and not text:find(HEX .. "%-" .. HEX) then return text end
   local parts, at = {}, 1
   while at <= #text do
      local stop = uuid_end(text, at) or day_end(text, at)
      parts[#parts + 1] = stop and "#" or text:sub(at, at)
      at = stop or at + 1
   end
   return table.concat(parts)
end

local function folded_word(word, all)
   if not word:find("%d") then return word end
   if not word:find("[A-Za-z]") then return "#" end
   local _, digits = word:gsub("%d", "")
   if #word >= 7 and digits > 1 and (word:find("^[0-9a-f]+$") or word:find("^[0-9A-F]+$")) then
      return "#"
   end
   return (word:gsub("([A-Za-z]*)(%d[%d.]*)", function(before, number)
      local long = #number:match("^%d+") >= 4
      local padded = #number > 1 and number:sub(1, 1) == "0"
      if all or long or padded or counted_words[before:lower()] then return before .. "#" end
      return before .. number
   end))
end

-- a name without what Kubernetes hangs on that of a manifest
local function without_pod(name)
   local head, tail = name:match("^(.*[0-9a-z])%-(" .. POD .. ")$")
   if not head or tail:find("^%d+$") or WORDS[tail] then return name end
   local before, set = head:match("^(.*[0-9a-z])%-([bcdf0-9]+)$")
   if before and #set >= 8 and #set <= 10 then return before end
   return head
end

-- a name with what differs from run to run taken out, as in prophase/trace/identity/folding.py
local function folded(name, all)
   local text = without_stamps(without_pod(name))
   text = text:gsub("%f[%d.]%d+[eE][-+]?%d+%f[^0-9A-Za-z]", "#")
   text = text:gsub("%f[%d.]%d+%.%d+[eE][-+]?%d+%f[^0-9A-Za-z]", "#")
   local parts, at = {}, 1
   while true do
      local from, to = text:find("[0-9A-Za-z]+", at)
      if not from then break end
      while text:find("^%d", to) do
         local _, stop = text:find("^%.%d+", to + 1)
         if stop and text:find("^[A-Za-z]", stop + 1) then stop = stop - 1 end
         if not stop or stop < to + 2 then break end
         to = stop
      end
      parts[#parts + 1] = text:sub(at, from - 1)
      parts[#parts + 1] = folded_word(text:sub(from, to), all)
      at = to + 1
   end
   text = table.concat(parts) .. text:sub(at)
   local again
   repeat text, again = text:gsub("#[-_.:, ]*#", "#") until again == 0
   return text
end

local function split(text, mark)
   local parts = {}
   for part in (text .. mark):gmatch("([^" .. mark .. "]*)" .. mark) do parts[#parts + 1] = part end
   return parts
end

local function escaped(text, characters)
   return (text:gsub(characters, function(c) return string.format("%%%02X", c:byte()) end))
end

local function unescaped(text)
   return (text:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end))
end

-- what a job says in a column of the job table; nil if nothing
local function column_of(job, column)
   local text = job[FIELDS[column] or ""]
   text = type(text) == "string" and text:match("^%s*(.-)%s*$") or ""
   return text ~= "" and text or nil
end

-- the lines before the index: whose a job is, which kind, what the policy allows
local head_text, head = nil, nil
local function head_of(text)
   if text == head_text then return head end
   local made = { rules = {}, kinds = {}, tenant = {}, folding = {} }
   counted_words = {}
   for line in text:gmatch("[^\n]+") do
      local words = split(line, "\t")
      if words[1] == "ask" then made.ask = true end
      if words[1] == "tenant" then made.tenant = { (unpack or table.unpack)(words, 2) } end
      if words[1] == "kind" then made.kinds[#made.kinds + 1] = { (unpack or table.unpack)(words, 2) } end
      if words[1] == "fold" then made.folding[words[2]] = words[3] end
      if words[1] == "counted" then
         for _, word in ipairs(split(words[2], " ")) do counted_words[word] = true end
      end
      if words[1] == "rule" then
         made.rules[#made.rules + 1] = { column = words[2], pattern = words[3], mode = words[4],
                                         resources = split(words[5], " ") }
      end
   end
   head_text, head = text, made
   return made
end

local function joined(job, columns, part)
   local parts, known = {}, false
   for place, column in ipairs(columns) do
      local text = part(column_of(job, column), column)
      known = known or text ~= nil
      parts[place] = text or "-"
   end
   return known and table.concat(parts, "/") or nil
end

-- tenant and kind of a job; nil if it does not say whose it is
local function key_of(job, names)
   for _, column in ipairs(names.tenant) do
      if not column_of(job, column) then return nil end
   end
   local tenant = joined(job, names.tenant, function(text)
      if #names.tenant == 1 then return text end
      return text == "-" and "%2D" or escaped(text, "[%%/]")
   end)
   for _, level in ipairs(names.kinds) do
      local kind = joined(job, level, function(text, column)
         if not text or not names.folding[column] then return text end
         local name = folded(text, names.folding[column] == "all")
         return name ~= "#" and name or nil
      end)
      if kind then return tenant or "", kind end
   end
   return tenant or "", "all"
end

local function rules_of(job, rules)
   for _, one in ipairs(rules) do
      local text = one.column == "" and "" or column_of(job, one.column) or ""
      if text:find(one.pattern) then return one end
   end
   return nil
end

local function hash_of(text, buckets)
   local hash = 0
   for place = 1, #text do hash = (hash * 31 + text:byte(place)) % 4294967291 end
   return hash % buckets
end

-- what the table says of a kind, resource -> words; nil if there is no table that counts
local function row_of(file, tenant, kind, buckets, index)
   local key = escaped(tenant, "[%%\t\n]") .. "\t" .. escaped(kind, "[%%\t\n]")
   file:seek("set", index + ENTRY * hash_of(key, buckets))
   local ends = file:read(2 * ENTRY)
   local from, to = ends:match("(%d+)\n(%d+)\n")
   from, to = tonumber(from), tonumber(to)
   if from == to then return {} end
   file:seek("set", from)
   local rows = file:read(to - from) or ""
   if #rows < to - from then error("breaks off") end
   for line in rows:gmatch("[^\n]+") do
      if line:sub(1, #key + 1) == key .. "\t" then
         local words = split(line:sub(#key + 2), "\t")
         return { memory = words[1], time = words[2] }
      end
   end
   return {}
end

-- a number above 0 that is set; those of 16 bits have words of their own for "not set"
local function known(job, name)
   local value = job[name]
   if not value or value == 0 or value == 65534 or value == 65535 then return nil end
   return value
end

-- cores per node, as prophase/profile/submission/slurm_job_desc.py has them
local function cores_of(job)
   local nodes, tasks = known(job, "min_nodes") or 1, known(job, "num_tasks")
   local here = known(job, "ntasks_per_node") or (tasks and tasks / nodes)
   local each = known(job, "cpus_per_task")
   if here or each then return (here or 1) * (each or 1) end
   return (known(job, "min_cpus") or nodes) / nodes
end

local MEMORY = { { 1024, "TiB" }, { 1, "GiB" }, { 1 / 1024, "MiB" }, { 1 / 1048576, "KiB" } }
local TIME = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" }, { 0.001, "ms" } }
local function said(value, steps)
   local rounded = tonumber(string.format("%.3g", value))
   for _, step in ipairs(steps) do
      if rounded >= step[1] then
         local number = math.max(value / step[1], 1)
         local text = string.format("%.3g", number)
         if number >= 999.5 or number == math.floor(number) then
            text = string.format("%.0f", number):gsub("^(%d+)(%d%d%d)$", "%1,%2")
         end
         return text .. " " .. step[2]
      end
   end
   return string.format("%.3g", value) .. " " .. steps[2][2]
end

-- the field of job_desc that holds a request, the request in GiB or seconds and in the field's unit;
-- nil if there is none to change, false if the service must be asked
local function request_of(job, resource)
   if resource == "time" then
      local limit = known(job, "time_limit")
      return limit and "time_limit", limit and limit * 60, limit
   end
   if job.shared == 0 or job.min_mem_per_node == 0 then return nil end
   if job.mem_per_tres then return false end
   local node, cpu = known(job, "min_mem_per_node"), known(job, "min_mem_per_cpu")
   if node then return "pn_min_memory", node / 1024, node end
   if cpu then return "min_mem_per_cpu", cpu / 1024 * cores_of(job), cpu end
   return nil
end

-- what a job of a kind should ask for: { field, value, words, note }; nil if its request stays, false
-- if the service must be asked
local function request_change(job, resource, cell)
   if not cell or cell == "" then return nil end
   local field, asked, own = request_of(job, resource)
   if not field then return field end
   if cell == "ask" then return false end
   local low, high, raise, one, two, three, why =
      cell:match("^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$")
   one, two, three = tonumber(one), tonumber(two), tonumber(three)
   if asked < tonumber(low) or asked > tonumber(high) then return nil end
   if raise == "0" or asked >= one then
      if one >= asked then return nil end
      -- the last attempt never has less than its user wanted
      two, three = math.min(two, asked), math.max(three, asked)
   end
   local steps, factor, value = MEMORY, 1024.0, nil
   if resource == "time" then
      steps, factor, value = TIME, 1.0 / 60.0, math.max(1, math.ceil(one / 60 - 1e-9))
   elseif field == "min_mem_per_cpu" then
      factor, value = own / asked, math.ceil(own * (one / asked) - 1e-6)
   else
      value = math.max(1, math.ceil(1024 * one - 1e-6))
   end
   local rungs = {}
   for place, rung in ipairs({ one, two, three }) do
      rungs[place] = string.format("%.0f", math.ceil(rung * factor - 1e-6))
   end
   return { field = field, value = value,
            words = string.format("%s %s instead of %s (%s)", resource, said(one, steps),
                                  said(asked, steps), unescaped(why)),
            note = string.format("%s %.0f -> %s", resource, asked * factor,
                                 table.concat(rungs, ", ")) }
end

local function asks_for_gpus(job)
   for _, name in ipairs(SETTABLE_TEXTS) do
      if job[name] and job[name]:find("gpu", 1, true) then return true end
   end
   return false
end

-- the answer that stands ready for a job, nil if it must be asked for
local function ready(job)
   local file = io.open(PROPHASE_TABLE, "rb")
   if not file then
      if not table_missing then
         slurm.log_info("prophase: cannot read %s: every job is asked about", PROPHASE_TABLE)
      end
      table_missing = true
      return nil
   end
   table_missing = false
   local line = file:read(HEAD) or ""
   local valid, buckets, index = line:match("^prophase%-answers 1 (%d+) (%d+) (%d+)")
   if not valid or tonumber(valid) < os.time() then
      file:close()
      return nil
   end
   index = tonumber(index)
   local names = head_of(file:read(index - HEAD))
   local tenant, kind, row
   if not names.ask then tenant, kind = key_of(job, names) end
   if kind then row = row_of(file, tenant, kind, tonumber(buckets), index) end
   file:close()
   local rules = row and rules_of(job, names.rules)
   if not rules then return nil end
   local found = { outcome = rules.mode, change = {}, tell = "", note = "" }
   if rules.mode == "off" then return found end
   local words, notes = {}, {}
   for _, resource in ipairs(rules.resources) do
      -- which part of a GPU the nodes give is known by the service alone
      if resource == "gpu" and asks_for_gpus(job) then return nil end
      local change = request_change(job, resource, row[resource])
      if change == false then return nil end
      if change then
         found.change[change.field] = change.value
         words[#words + 1], notes[#notes + 1] = change.words, change.note
      end
   end
   if rules.mode == "dry-run" then
      found.change = {}
      return found
   end
   found.outcome = "annotated"
   if #words == 0 then return found end
   local hint = "; nothing was changed"
   if rules.mode == "set" then
      hint, found.outcome = "; to keep your request: --comment=prophase=off", "set"
      found.note = "prophase: " .. table.concat(notes, "; ")
   else
      found.change = {}
   end
   found.tell = table.concat(words, "; ") .. hint
   return found
end

local function recommend(job_desc, part_list)
   local wish = wish_of(job_desc)
   if wish == "off" then return "opted out" end
   local job = described(job_desc, part_list)
   local fine, found = pcall(ready, job)
   local from = " from table"
   if not fine then
      slurm.log_info("prophase: %s: %s", PROPHASE_TABLE, tostring(found))
      found = nil
   end
   if not found then
      local remembered
      found, remembered = asked(as_json(job))
      if not found then return remembered and "late" or "away" end
      from = remembered and " from memory" or ""
   end
   local changed = {}
   if wish ~= "tell" then
      for name, value in pairs(found.change) do
         job_desc[name] = value
         changed[#changed + 1] = name .. "=" .. tostring(value)
      end
   end
   if found.tell and found.tell ~= "" then slurm.log_user("Prophase: %s", found.tell) end
   if #changed > 0 then
      -- prophase cure finds the next rung here, should the job be killed
      if found.note and found.note ~= "" then
         pcall(function() job_desc.admin_comment = found.note end)
      end
      table.sort(changed)
      slurm.log_info("prophase: %s of %s: %s", tostring(job.name), tostring(job.user_name),
                     table.concat(changed, " "))
      return "set" .. from
   end
   if found.outcome == "set" then return "told" end
   return found.outcome
end

-- never fails and never raises: what goes wrong is in slurmctld's log
function prophase_recommend(job_desc, part_list, submit_uid)
   local fine, outcome = pcall(recommend, job_desc, part_list)
   if not fine then
      slurm.log_info("prophase: %s", tostring(outcome))
      outcome = "failed"
   end
   pcall(count, outcome)
   pcall(report)
   pcall(tell_service)
   return outcome
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   prophase_recommend(job_desc, part_list, submit_uid)
   return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   return slurm.SUCCESS
end

return slurm.SUCCESS
