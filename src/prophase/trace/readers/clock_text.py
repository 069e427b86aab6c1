"""Wall-clock text as seconds since 1970, the same on every engine.

Engines disagree about time zone offsets inside a cast (one applies them, one drops
them), so the offset is split off and applied here.
"""

from __future__ import annotations

import ibis

#: length of 2021-02-11T22:36:19
_CLOCK_WIDTH = 19
_REST = r"^(?:[.][0-9]+)?(?:Z|([+-])([0-9]{2}):?([0-9]{2}))?$"


def instant_s(text: ibis.Value) -> ibis.Value:
    """Return seconds since 1970 of texts such as ``2021-02-11T22:36:19`` or plain seconds.

    A text with an offset (``+08:00``) becomes true Unix time; one without is read as if
    its clock were UTC. What is no time becomes missing.
    """
    rest = text.substr(_CLOCK_WIDTH)
    clock = (text.contains("-") & rest.re_search(_REST)).ifelse(
        text.substr(0, _CLOCK_WIDTH), ibis.null("string")
    )
    hours = rest.re_extract(_REST, 2).nullif("").try_cast("float64")
    minutes = rest.re_extract(_REST, 3).nullif("").try_cast("float64")
    offset = hours * 3600.0 + minutes * 60.0
    ahead = rest.re_extract(_REST, 1) == "+"
    shift = ibis.coalesce(ahead.ifelse(-offset, offset), ibis.literal(0.0))
    seconds = text.re_search(r"^[0-9]+(?:[.][0-9]+)?$").ifelse(text, ibis.null("string"))
    return ibis.coalesce(
        clock.try_cast("timestamp").epoch_seconds().cast("float64") + shift,
        seconds.try_cast("float64"),
    )
