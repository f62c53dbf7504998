"""aggregate steps."""

from __future__ import annotations

import pytest

from functions.steps.aggregate.handler import handler


@pytest.fixture
def run(invocation):
    return lambda config: handler(invocation("aggregate", config), None)["output"]


@pytest.mark.parametrize(("config", "expected"), [
    ({"results": ["a", "b"]}, "ab"),
    ({"results": [[1], [2, 3], None]}, [1, 2, 3]),
    ({"results": [{"a": 1, "b": 1}, {"b": 2}]}, {"a": 1, "b": 2}),
    ({"results": ["a", 1, [2]]}, ["a", 1, 2]),
    ({"results": []}, []),
    ({"aggregation": "sum", "results": [1, 2, None, 3]}, 6),
    ({"aggregation": "sum", "results": [0.1] * 10}, 1),
    ({"aggregation": "sum", "results": [356686000032329832, 1]}, "356686000032329833"),
    ({"aggregation": "sum", "results": []}, 0),
    ({"aggregation": "sum", "results": [[1, 2], [3]]}, 6),
    ({"aggregation": "sum", "results": {"left": 1, "right": 2}}, 3),
    ({"aggregation": "sum", "field": "n", "data": [{"n": 1}, {"n": 2}, {}]}, 3),
    ({"aggregation": "average", "results": [1, 2]}, 1.5),
    ({"aggregation": "average", "results": []}, None),
    ({"aggregation": "max", "results": [3, 10, 2]}, 10),
    ({"aggregation": "MIN", "results": [3, 10, 2.5]}, 2.5),
    ({"aggregation": "sum", "results": 5}, 5),
    ({"custom_script": "total = sum(i['score'] for i in results)\nreturn {'total': total, 'count': len(results)}",
      "results": [{"score": 1}, {"score": 2}]}, {"total": 3, "count": 2}),
    ({"aggregation": "summarize", "results": [{"ok": True, "ms": 10}, {"ok": True, "ms": 30}, {"ok": False, "ms": 20}]},
     {"count": 3, "fields": {"ok": {"count": 3, "values": {"true": 2, "false": 1}},
                             "ms": {"count": 3, "sum": 60, "average": 20, "min": 10, "max": 30}}}),
    ({"aggregation": "summarize", "results": [1, 2]}, {"count": 2, "sum": 3, "average": 1.5, "min": 1, "max": 2}),
    ({"aggregation": "summarize", "results": ["a", "b", "a"]}, {"count": 3, "values": {"a": 2, "b": 1}}),
    ({"results": [[1], ["b"]], "format": "text"}, "1\nb"),
    ({"aggregation": "sum", "results": [1, 1], "format": "text"}, "2"),
    ({"results": [[{"name": "a|b", "n": 1}, {"name": "c\nd"}]], "format": "markdown_report", "title": "Tests"},
     "# Tests\n\n| name | n |\n| --- | --- |\n| a\\|b | 1 |\n| c d |  |\n"),
    ({"results": {"x": {"ok": True, "list": ["a", 2]}}, "format": "markdown_report"},
     "# Report\n\n- **ok**: true\n\n## list\n\n- a\n- 2\n"),
])
def test_aggregations(run, config, expected):
    assert run(config) == expected


@pytest.mark.parametrize(("config", "words"), [
    ({"aggregation": "sum", "results": ["1"]}, "is a text"),
    ({"aggregation": "max", "results": [True]}, "true or false"),
    ({"aggregation": "average", "results": [{"n": 1}]}, "`field`"),
    ({"aggregation": "median", "results": []}, "must be one of concat"),
    ({"results": [], "data": []}, "exclude each other"),
])
def test_failures(invocation, config, words):
    with pytest.raises(Exception, match="step s: ") as caught:
        handler(invocation("aggregate", config), None)
    assert type(caught.value).__name__ == "ValidationError" and words in str(caught.value)
