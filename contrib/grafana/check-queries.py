#!/usr/bin/env python3
"""Asks a Prometheus every query of the dashboard, with its variables filled in: check-queries.py [URL].

A query that Prometheus refuses, or that finds nothing, is an error. Some find nothing where they should: a run without zero-copy
paths has no zc_copied_ratio, one whose paths all ran no zc_unavailable, only runs of zc
run server have zc_request_*, and only zc soak --openmetrics writes zc_service_* and zc_meter_*.
"""

import json
import pathlib
import sys
import urllib.parse
import urllib.request

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:9090"
dashboard = json.loads(pathlib.Path(__file__).with_name("zc.json").read_text())
variables = {"instance": ".+", "experiment": ".+", "link": ".+", "cell": "sendfile", "side": "both"}


def filled(text):
    for name, value in variables.items():
        text = text.replace("$" + name, value)
    return text


def ask(path, **parameters):
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}") as answer:
        return json.load(answer)["data"]


queries = [(panel["title"], each["expr"]) for panel in dashboard["panels"] for each in panel.get("targets", [])]
for variable in dashboard["templating"]["list"]:
    if variable["type"] == "query":
        metric, label = variable["query"]["query"].removeprefix("label_values(").removesuffix(")").rsplit(", ", 1)
        queries.append((f"variable {variable['name']}", f"count by ({label}) ({metric})"))

empty = 0
for title, query in queries:
    try:
        found = len(ask("query", query=filled(query))["result"])
    except urllib.error.HTTPError as error:
        sys.exit(f"{title}: {filled(query)}: {json.load(error)['error']}")
    empty += found == 0
    print(f"{found:5d} series  {title}: {query}")
print(f"{len(queries)} queries, {empty} without a result")
sys.exit(empty > 0)
