#!/usr/bin/env python3
"""Reads a saved run of zc, formats 2 and 3, as docs/format.md describes it.

    read_run.py RUN.json

prints one JSON document: by cell the number of soaked windows, the bytes received in them and the
units that the soakers counted in them, and all meters of the last reading of the run. Needs nothing
but Python 3.8.
"""

import json
import sys

OLDEST, NEWEST = 2, 3
MODULUS = 1 << 64
KINDS = {"twin": "unsoaked-control"}  # format 2

STAT = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"]
TASK = ["cpu_ns", "voluntary_switches", "involuntary_switches"]
SENT = ["bytes", "calls", "completions", "copied", "enobufs", "short"]
RECEIVED = ["bytes", "calls", "mapped_bytes"]
LINK = ["tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "dropped"]
TCP = [
    "bytes_sent", "bytes_acked", "bytes_retrans", "total_retrans", "segs_out", "segs_in", "busy_us",
    "rwnd_limited_us", "sndbuf_limited_us", "snd_mss", "snd_cwnd",
]


def plus(before, differences):
    """The counts of `before`, each with its difference; what is left out at the end is 0."""
    if len(differences) < len(before):
        differences = differences + [0] * (len(before) - len(differences))
    return [(count + more) % MODULUS for count, more in zip(before, differences)]


class Decoder:
    """Restores the readings of one machine in one block, in their order."""

    def __init__(self):
        self.at_ns = self.process = self.ksoftirqd = self.cgroups = 0
        self.units, self.cpus, self.interrupts = [], [], []
        self.cpu_ns, self.ksoftirqd_ns = [], []
        self.softirqs = {}
        self.stat, self.link = [0, 0], [0] * len(LINK)
        self.flows = {}

    def window(self, slot):
        """Both readings of a window: the counters of its flows begin at nothing."""
        self.flows = {}
        opened = self.reading(slot["opened"])
        closed = self.reading(slot["closed"])
        return opened, closed

    def reading(self, delta):
        flows = self.flows
        soak = delta.get("soak")
        stat = (delta.get("stat") or [[], []])
        counts, cpus = plus([0] * 3, stat[0]), stat[1]
        if delta.get("absolute", delta.get("anew", False)):
            self.__init__()
            self.flows = flows
            lists = soak + [[], []] if soak else [0, [], [], [], []]  # two more since format 3.7
            self.units, self.cpu_ns, self.ksoftirqd_ns = ([0] * len(lists[at]) for at in (1, 3, 4))
            self.cpus = [[0] * len(STAT) for _ in cpus]
            self.softirqs = {kind: [0] * len(row) for kind, row in delta.get("softirqs", {}).items()}
            self.interrupts = [0] * len(delta.get("interrupts", []))
        passed = soak[0] if soak else delta.get("stopped", delta.get("still", 0))
        self.at_ns = (self.at_ns + passed) % MODULUS
        own = {"at_ns": self.at_ns, "units": [], "stamp_ns": []}
        if soak:
            soak = soak + [[], []]
            self.units = own["units"] = plus(self.units, soak[1])
            own["stamp_ns"] = [self.at(less) for less in soak[2]]
            self.cpu_ns = own["cpu_ns"] = plus(self.cpu_ns, soak[3])
            self.ksoftirqd_ns = own["ksoftirqd_ns"] = plus(self.ksoftirqd_ns, soak[4])
        self.stat = plus(self.stat, counts[1:])
        cpus = cpus + [[]] * (len(self.cpus) - len(cpus))
        self.cpus = [plus(before, more) for before, more in zip(self.cpus, cpus)]
        for kind, more in delta.get("softirqs", {}).items():
            self.softirqs[kind] = plus(self.softirqs[kind], more)
        self.interrupts = plus(self.interrupts, delta.get("interrupts", []))
        self.process = (self.process + delta.get("process", 0)) % MODULUS
        reading = {
            "soak": own,
            "process_cpu_ns": self.process,
            "stat": {
                "at_ns": self.at(counts[0]),
                "cpus": [dict(zip(STAT, cpu)) for cpu in self.cpus],
                "context_switches": self.stat[0],
                "interrupts": self.stat[1],
            },
            "softirqs": dict(self.softirqs),
            "interrupts": self.interrupts,
            "ksoftirqd_ns": None,
        }
        if "ksoftirqd" in delta:
            self.ksoftirqd = reading["ksoftirqd_ns"] = (self.ksoftirqd + delta["ksoftirqd"]) % MODULUS
        if "cgroups" in delta:  # since format 3.7
            self.cgroups = reading["cgroups_ns"] = (self.cgroups + delta["cgroups"]) % MODULUS
        if "link" in delta:
            at, self.link = self.timed(self.link, delta["link"])
            reading["link"] = {"at_ns": at, **dict(zip(LINK, self.link))}
        for name, fields in (("sender", TASK), ("receiver", TASK), ("tcp", TCP)):
            if name in delta:
                at, counts = self.timed(flows.get(name, [0] * len(fields)), delta[name])
                reading[name] = {"at_ns": at, **dict(zip(fields, counts))}
                self.flows.setdefault(name, counts)
        for name, fields in (("sent", SENT), ("received", RECEIVED)):
            if name in delta:
                counts = plus(flows.get(name, [0] * len(fields)), delta[name])
                reading[name] = dict(zip(fields, counts))
                self.flows.setdefault(name, counts)
        return reading

    def at(self, less):
        """A time that is written as its difference from the reading's own."""
        return (self.at_ns + less) % MODULUS

    def timed(self, before, numbers):
        """A time, and the counts behind it."""
        return self.at(numbers[0] if numbers else 0), plus(before, numbers[1:])


def windows(run):
    """Every window of a run: its cell (None for an idle window), its kind, and its two readings."""
    for block in run["blocks"]:
        decoder = Decoder()
        for slot in block["slots"]:
            kind = slot.get("kind")
            yield slot.get("cell"), KINDS.get(kind, kind), *decoder.window(slot)


def main(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    major, minor = run.get("zc_run"), run.get("zc_run_minor", 0)
    if not isinstance(major, int):
        sys.exit("not a saved run of zc")
    if not OLDEST <= major <= NEWEST:
        sys.exit(f"format {major}.{minor}: zc {run.get('read_by', '?')} and later read it")
    found = {cell["label"]: {"windows": 0, "bytes": 0, "units": 0} for cell in run["plan"]["cells"]}
    last = None
    for cell, kind, opened, closed in windows(run):
        last = closed
        if kind == "soaked":
            of_cell = found[cell]
            of_cell["windows"] += 1
            of_cell["bytes"] += closed["received"]["bytes"] - opened.get("received", {"bytes": 0})["bytes"]
            of_cell["units"] += sum(closed["soak"]["units"]) - sum(opened["soak"]["units"])
    json.dump({"soaked_windows": found, "last_reading": last}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
