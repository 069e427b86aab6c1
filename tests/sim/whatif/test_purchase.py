from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from prophase.errors import FormatError, InputError, MissingFileError, ParameterError
from prophase.sim import Cluster, Workload
from prophase.sim.whatif.purchase import NodeOffer, cheapest_mix, purchase_result, read_offers
from prophase.sim.whatif.scenarios import WhatIfQuestion, WhatIfScenario, settings_of
from prophase.sim.whatif.smallest_cluster import parse_wait_target
from prophase.trace.prices import Prices

TARGET = parse_wait_target("p95_wait<20min")
OFFERS = [
    NodeOffer("small", {"gpus": 1}, 1.0, most=9),
    NodeOffer("large", {"gpus": 4}, 3.4, most=3),
]


def busy(first: str | None = None) -> Workload:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"submit_s": np.sort(rng.uniform(0, 2 * 86400, 300))})
    table["duration_s"] = rng.exponential(3000, 300)
    table["request_gpus"] = rng.choice([1.0, 2.0], 300, p=[0.8, 0.2])
    table["gpu_type"] = None
    table.loc[0, "gpu_type"] = first
    return Workload.from_jobs(table.assign(job_id=table.index.astype(str)))


@pytest.fixture(scope="module")
def today() -> WhatIfScenario:
    return WhatIfScenario("baseline", busy(), Cluster.parse("1x4"), {})


def test_no_mix_that_reaches_the_target_is_cheaper(today):
    found = cheapest_mix([today], OFFERS, TARGET, seeds=2)
    everything = {
        mix: cheapest_mix(
            [WhatIfScenario("b", today.workload, _with(mix), {})],
            [NodeOffer("none", {"gpus": 1}, 1.0, most=0)],
            TARGET,
            seeds=1,
        ).best
        for mix in product(range(6), range(3))
    }
    costs = [mix[0] + 3.4 * mix[1] for mix, best in everything.items() if best is not None]
    assert found.best.cost_per_hour == pytest.approx(min(costs))


def _with(mix: tuple[int, int]) -> Cluster:
    rows = [{"node_id": "own", "gpus": 4}]
    rows += [{"node_id": f"s{n}", "gpus": 1} for n in range(mix[0])]
    rows += [{"node_id": f"l{n}", "gpus": 4} for n in range(mix[1])]
    return Cluster.from_nodes(pd.DataFrame(rows))


def test_one_node_fewer_misses_and_the_answer_says_so(today):
    found = cheapest_mix([today], OFFERS, TARGET, seeds=2)
    fewer = [one for one in found.neighbours if sum(one.mix) < sum(found.best.mix)]
    assert fewer
    assert not any(one.reaches for one in fewer)
    answer = purchase_result(found, "EUR")
    assert answer.notes[0].startswith(f"Buy {found.named(found.best.mix)}: ")
    assert "every mix with one node fewer misses it" in answer.notes[1]
    assert answer.values["best"]["mix"] == dict(
        zip(("small", "large"), found.best.mix, strict=True)
    )
    assert any("Not tried on other traces" in note for note in answer.notes)


def test_a_setting_that_costs_nothing_wins_where_it_saves_a_node(today):
    order = WhatIfScenario("policy shortest", today.workload, today.cluster, {"order": "shortest"})
    alone = cheapest_mix([today], OFFERS, TARGET, seeds=1).best
    both = cheapest_mix([today, order], OFFERS, TARGET, seeds=1).best
    assert both.cost_per_hour <= alone.cost_per_hour
    plenty = WhatIfScenario("baseline", today.workload, Cluster.parse("9x4"), {})
    nothing = cheapest_mix([plenty, order], OFFERS, TARGET, seeds=1)
    assert nothing.named(nothing.best.mix) == "nothing"
    assert nothing.best.scenario == "baseline"


def test_an_impossible_target_says_why(today):
    short = cheapest_mix([today], OFFERS, parse_wait_target("mean jct < 1 min"), seeds=1)
    assert "run times alone" in short.why_not
    few = cheapest_mix([today], [NodeOffer("small", {"gpus": 1}, 1.0, most=1)],
                       parse_wait_target("max wait < 1 s"), seeds=1)  # fmt: skip
    assert few.why_not.startswith("with 1 x small it is ")
    none = cheapest_mix([today], [NodeOffer("small", {"gpus": 1}, 1.0, most=0)],
                        parse_wait_target("max wait < 1 s"), seeds=1)  # fmt: skip
    assert none.why_not.startswith("none can be had (most is 0 for every kind), and today's")
    rare = WhatIfScenario("baseline", busy("H100"), Cluster.parse("1x4 T4"), {})
    offer = NodeOffer("small", {"gpus": 1, "gpu_type": "T4"}, 1.0, most=2)
    stuck = cheapest_mix([rare], [offer], TARGET)
    assert "1 jobs, such as 0, fit neither" in stuck.why_not
    assert purchase_result(stuck).tone == "bad"


def test_offers_are_read_with_prices_of_their_own_or_from_a_price_file(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("gpus,gpu_type,cpu_cores,price_per_hour,most\n8,V100,96,,4\n2,T4,16,1.5,\n")
    first, second = read_offers(path, Prices({"V100": 2.0}, core_hour=0.01))
    assert (first.name, first.price_per_hour, first.most) == ("8xV100", 16.96, 4)
    assert (second.name, second.price_per_hour) == ("2xT4", 1.5)
    with pytest.raises(InputError, match=r"line 2: has no price_per_hour"):
        read_offers(path)
    path.write_text("gpus,most\n-1,2\n")
    with pytest.raises(FormatError, match=r"line 2: gpus is -1"):
        read_offers(path, Prices({"default": 1.0}))
    path.write_text("name\nx\n")
    with pytest.raises(FormatError, match="names no nodes"):
        read_offers(path)
    with pytest.raises(MissingFileError, match="no such table"):
        read_offers(tmp_path / "none.csv")


def test_nodes_and_loads_have_no_place_beside_offers(today):
    with pytest.raises(ParameterError, match="leave out --add"):
        settings_of(WhatIfQuestion(add=["1x1"]), today.workload, today.cluster, {})
    found, _ = settings_of(WhatIfQuestion(policies=["shortest"]), today.workload, today.cluster, {})
    assert [one.name for one in found] == ["baseline", "policy shortest"]


def test_where_todays_nodes_are_enough_nothing_is_said_of_fewer(today):
    found = cheapest_mix([today], OFFERS, parse_wait_target("max wait < 90 d"), seeds=1)
    said = " ".join(purchase_result(found).notes)
    assert "Buy nothing" in said
    assert "Today's nodes are enough" in said
    assert "one node fewer" not in said
