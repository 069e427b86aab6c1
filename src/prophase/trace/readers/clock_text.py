"""Wall-clock text as seconds since 1970, the same on every engine.

Engines disagree about time zone offsets inside a cast (one applies them, one drops
them), so the offset is split off and applied here.
"""

from __future__ import annotations

import ibis

_INSTANT = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.][0-9]+)?"
    r"(?:Z|([+-])([0-9]{2}):?([0-9]{2}))?$"
)


def instant_s(text: ibis.Value) -> ibis.Value:
    """Return seconds since 1970 of texts such as ``2021-02-11T22:36:19`` or plain seconds.

    A text with an offset (``+08:00``) becomes true Unix time; one without is read as if
    its clock were UTC. What is no time becomes missing.
    """
    day, clock = text.re_extract(_INSTANT, 1), text.re_extract(_INSTANT, 2)
    sign = text.re_extract(_INSTANT, 3)
    hours = text.re_extract(_INSTANT, 4).try_cast("float64")
    minutes = text.re_extract(_INSTANT, 5).try_cast("float64")
    offset = ibis.coalesce(hours * 3600.0 + minutes * 60.0, ibis.literal(0.0))
    shift = ibis.cases((sign == "+", -offset), (sign == "-", offset), else_=0.0)
    local = (day + ibis.literal(" ") + clock).try_cast("timestamp")
    seconds = text.re_search(r"^[0-9]+(?:[.][0-9]+)?$").ifelse(text, ibis.null("string"))
    return ibis.coalesce(local.epoch_seconds().cast("float64") + shift, seconds.try_cast("float64"))
