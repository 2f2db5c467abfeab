#!/usr/bin/env python3
"""Executes the code of a notebook as CI does: run.py NOTEBOOK [CHART.png].

It needs what the notebook imports and nothing of Jupyter, which would take longer to install than all of this takes to run. All
cells share one namespace, as in a kernel. A cell that fails is named. A notebook that was saved with outputs is refused: they
would be somebody's results.
"""

import ast
import json
import os
import sys

os.environ.setdefault("MPLBACKEND", "Agg")  # no display

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]

namespace = {"__name__": "__main__"}
for number, cell in enumerate(cells, 1):
    if cell["cell_type"] != "code":
        continue
    name = f"cell {number} ({cell['id']})"
    if cell["outputs"] or cell["execution_count"] is not None:
        sys.exit(f"{name} has outputs: clear them (Edit, Clear Outputs of All Cells) before you save")
    tree = ast.parse("".join(cell["source"]), name)
    # What a cell ends in is shown, as in Jupyter.
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, name, "exec"), namespace)
        value = shown and eval(compile(ast.Expression(shown.value), name, "eval"), namespace)
    except Exception as error:
        sys.exit(f"{name}: {type(error).__name__}: {error}")
    if value is not None:
        print(f"-- {name}\n{value}")

if len(sys.argv) == 3:
    namespace["figure"].savefig(sys.argv[2], dpi=100)
