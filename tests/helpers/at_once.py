"""A FileWriter without a thread and a disk of its own."""


class AtOnce:
    """Does what it is told at once, unless it is frozen."""

    def __init__(self):
        self.frozen = False
        self.jobs = {}

    def submit(self, name, job):
        self.jobs[name] = job
        if not self.frozen:
            self.thaw()

    def thaw(self):
        self.frozen = False
        for job in tuple(self.jobs.values()):
            job()
        self.jobs.clear()

    def behind_seconds(self, name=None):
        return 1.0 if (self.jobs if name is None else name in self.jobs) else 0.0
