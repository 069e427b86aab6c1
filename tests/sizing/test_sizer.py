from __future__ import annotations

import pytest

from prophase.errors import MissingExtraError
from prophase.sizing.sizer import library


def test_a_missing_library_names_what_to_install():
    with pytest.raises(MissingExtraError, match=r'pip install "prophase\[learn\]"'):
        library("no_such_library")
