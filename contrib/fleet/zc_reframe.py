"""zc as a test of ReFrame (https://reframe-hpc.readthedocs.io): pairs of nodes and plans as parameters, exclusive nodes, a run's
costs as performance figures, which references of a site may bound.

ZC_PAIRS=n1:n2,n3:n4 reframe -C settings.py -c zc_reframe.py -r --performance-report
"""

import csv
import io
import os
import subprocess

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typing
from reframe.core.builtins import parameter, run_before, sanity_function, variable


@rfm.simple_test
class zc_pair(rfm.RunOnlyRegressionTest):
    """The cost of each path between two nodes, of which the first sends."""

    # Of the environment, as parameters are expanded before options of the command line are read.
    pair = parameter(os.environ.get("ZC_PAIRS", "n1:n2").split(","))
    plan = parameter(os.environ.get("ZC_PLANS", "paths").split(","))
    budget = variable(str, value="60s")
    zc = variable(str, value="zc")
    options = variable(typing.List[str], value=[])

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    num_tasks_per_node = 1
    exclusive_access = True
    time_limit = "15m"

    @run_before("run")
    def command(self):
        near, far = self.pair.split(":")
        on = "srun --overlap --mem=0 --nodes=1 --ntasks=1 --nodelist="
        self.job.options += [f"--nodelist={near},{far}", "--mem=0"]
        self.job.launcher.options = ["--overlap", "--mem=0", "--nodes=1", "--ntasks=1", f"--nodelist={near}"]
        self.executable = self.zc
        self.executable_opts = ["run", self.plan, "--via", f"'{on}{far}'", "--budget", self.budget, *self.options, "--out", "run.json"]

    @sanity_function
    def has_a_run(self):
        """A run without a block that counts ends with an error. (Exit codes are known only where Slurm keeps accounts.)"""
        return sn.all([sn.assert_found(r"^saved: ", self.stderr), sn.assert_not_found(r"^error: ", self.stderr)])

    @run_before("performance")
    def figures(self):
        """A figure for each path: both ends' cost in us per MB."""
        run = os.path.join(self.stagedir, "run.json")
        table = subprocess.run([self.zc, "show", "--csv", run], check=True, capture_output=True, text=True).stdout
        costs = {row["path"]: row["both_us_per_mb"] for row in csv.DictReader(io.StringIO(table))}
        self.perf_variables = {
            path: sn.make_performance_function(sn.defer(float(cost)), "us/MB") for path, cost in costs.items() if cost
        }
