"""What the stages of a job did: rows, bytes, seconds."""

import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """What a task did. Seconds are of the clock, `cpu` those that its Python worker has
    computed."""

    stage: str
    partition: int
    rows_in: int
    rows_out: int
    bytes: int
    seconds: float
    cpu: float


@dataclass(frozen=True)
class Stage:
    """What a stage did, as the sums over its tasks; the longest task and the median of those that
    had work, by their computing."""

    name: str
    tasks: int
    rows_in: int
    rows_out: int
    bytes: int
    cpu: float
    longest: float
    median: float

    def __str__(self):
        return (
            f"{self.name}: {self.tasks} tasks, {self.rows_in:,} rows in, {self.rows_out:,} out, "
            f"{self.bytes:,} bytes, {self.cpu:.1f} s of CPU "
            f"(longest task {self.longest:.2f} s, median {self.median:.2f} s)"
        )


class Report:
    """Collects what the tasks of a job tell. Give one to a call, run an action on what it returns,
    then print the report.

    A task that ran twice counts once. Needs a SparkContext, so it stays empty under Spark Connect.

        report = Report(spark)
        near_pairs(df, k=3, report=report).write.parquet(path)
        print(report)
    """

    def __init__(self, spark):
        from pyspark.accumulators import AccumulatorParam

        class Lists(AccumulatorParam):
            def zero(self, value):
                return []

            def addInPlace(self, one, other):
                one.extend(other)
                return one

        try:
            self._told = spark.sparkContext.accumulator([], Lists())
        except Exception:  # Spark Connect has no context.
            self._told = None
        self._names = {}
        #: What was predicted of the last join: rows_in, rows_sent, amplification, bytes, tasks,
        #: splits, skew.
        self.predicted = {}

    def _stage(self, name):
        """The name of a new stage, and what its tasks tell."""
        number = self._names[name] = self._names.get(name, 0) + 1
        return Teller(name if number == 1 else f"{name} ({number})", self._told)

    def tasks(self):
        """What each task did."""
        told = [] if self._told is None else self._told.value
        return list({(one[0], one[1]): Task(*one) for one in told}.values())

    def stages(self):
        """What each stage did, in the order in which they first ended."""
        by_name = {}
        for task in self.tasks():
            by_name.setdefault(task.stage, []).append(task)
        return [_stage(name, tasks) for name, tasks in by_name.items()]

    def __str__(self):
        lines = [str(stage) for stage in self.stages()]
        if self.predicted:
            numbers = [f"{name} {_number(value)}" for name, value in self.predicted.items()]
            lines.append("predicted: " + ", ".join(numbers))
        return "\n".join(lines)


def _number(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _stage(name, tasks):
    busy = [task.cpu for task in tasks if task.rows_in] or [0.0]
    sums = (
        sum(getattr(task, of) for task in tasks) for of in ("rows_in", "rows_out", "bytes", "cpu")
    )
    return Stage(name, len(tasks), *sums, longest=max(busy), median=statistics.median(busy))


class Teller:
    """Tells of the tasks of a stage; goes to the workers."""

    def __init__(self, stage, told):
        self.stage, self.told = stage, told

    def task(self):
        """Starts to count a task."""
        return Running(self)


class Silent:
    """Tells nothing."""

    def task(self):
        """Counts what nobody reads."""
        return Running(None)


class Running:
    """Counts what a task does, until `done`."""

    def __init__(self, teller):
        self.teller = teller
        self.rows_in = self.rows_out = self.bytes = 0
        self.started, self.cpu = time.monotonic(), time.process_time()

    def done(self):
        """Tells what was counted."""
        if self.teller is None or self.teller.told is None:
            return
        from pyspark import TaskContext

        context = TaskContext.get()
        seconds, cpu = time.monotonic() - self.started, time.process_time() - self.cpu
        partition = context.partitionId() if context else 0
        one = (self.teller.stage, partition, self.rows_in, self.rows_out, self.bytes, seconds, cpu)
        self.teller.told.add([one])


def stage(report, name):
    """A stage of a report, or of none."""
    return Silent() if report is None else report._stage(name)
