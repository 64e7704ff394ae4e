# SPDX-License-Identifier: BSD-3-Clause
"""What a job of phases.c has left when its victim has come to its end."""
import os
import re
import subprocess
import time

AT_MOST = 2.0  # seconds from a death to the end of the job, at the second try at the latest
AT_LATEST = 10.0  # at the first: the machine may do something else for a while
LIMIT = 60  # for a job that hangs


def processes_of(job):
    """All that run with this job in their environment, memory servers included."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                settings = file.read().split(b"\0")
        except OSError:
            continue
        if {b"ATOLL_JOB_ID=" + job.encode(), b"PMIX_NAMESPACE=" + job.encode()} & set(settings):
            found.append(f"process {entry}")
    return found


def objects_of(job, *folders, of="self"):
    """Its files in these folders, and in /dev/shm, and its sockets, as process `of` sees the latter two."""
    places = (*folders, f"/proc/{of}/root/dev/shm")
    found = [f"{place}/{name}" for place in places for name in os.listdir(place) if name.startswith("atoll.") and job in name]
    with open(f"/proc/{of}/net/unix") as sockets:
        return found + [line.split()[-1] for line in sockets if "@atoll." in line and job in line]


def has_lost_its_words(said):
    """mpirun says that a process has failed, and once in a hundred jobs, on a busy machine, no more than that."""
    return re.search(r"^Primary job  terminated normally, but", said, re.MULTILINE) and \
        not re.search(r"^mpirun (noticed|detected|has exited)", said, re.MULTILINE)


def only_blames(said, victim):
    """Whether these lines, of which there is one at least, are those of PEs that have lost the victim."""
    return re.fullmatch(rf"(atoll: .* PE {victim} .*\n)+", said) is not None


def in_time(attempt, at_most=AT_MOST):
    """What attempt() returns, the seconds that a job has lasted, or None if it was wrong.  Above what is allowed it is tried once
    more: the machine may have done something else, but hardly twice."""
    lasted = attempt()
    if lasted is None or lasted <= at_most:
        return lasted
    print(f"that was {lasted:.2f} s, and {at_most} are allowed; once more")
    lasted = attempt()
    if lasted is not None and lasted > at_most:
        print(f"FAILED: {lasted:.2f} s again")
        return None
    return lasted


class EndedJob:
    def __init__(self, command, environment):
        job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=LIMIT, env=environment)
        ended = time.time()
        self.code, self.out, self.err = job.returncode, job.stdout, job.stderr
        died = re.search(r"^dies ([\d.]+)$", job.stdout, re.MULTILINE)
        self.died = float(died[1]) if died else None
        self.lasted = ended - self.died if died else None  # from the death on, in seconds
        name = re.search(r"^job (\S+)$", job.stdout, re.MULTILINE)
        self.name = name[1] if name else "no PE has started"

    def said(self):
        """Lines of PEs, and of oshrun."""
        return "".join(re.findall("^(?:atoll|oshrun):.*\n", self.err, re.MULTILINE))

    def problems(self, code, at_most=AT_LATEST):
        """With its end, which should have this exit code."""
        found = []
        if self.lasted is None:
            found.append("the victim has not died")
        elif self.lasted > at_most:
            found.append(f"the job has ended {self.lasted:.2f} s after its victim")
        if self.code != code:
            found.append(f"the exit code is {self.code} and should be {code}")
        return found

    def processes_left(self):
        """An engine may end a moment before the processes that it has ended."""
        while (left := processes_of(self.name)) and self.died and time.time() < self.died + AT_LATEST:
            time.sleep(0.01)
        return left

    def report(self, what, problems):
        if problems:
            print(f"FAILED: {what}: {'; '.join(problems)}\n{self.out}{self.err}")
        else:
            print(f"{what}: ended after {1000 * self.lasted:.0f} ms")
