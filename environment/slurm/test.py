"""Runs one study on one machine, with xargs, and as a Slurm job array of which one task is
killed and requeued. The files must be the same, byte for byte.

    python3 environment/slurm/test.py

The test starts a real Slurm of a single node and ends it. That needs slurmctld, slurmd,
Slurm's commands and munge (Debian, Ubuntu: apt install slurmctld slurmd slurm-client
munge), but neither root nor a system service. If they are missing this part is skipped;
that is an error if the environment variable CI is set.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

CHAINS = 4
KILLED = 2  # the task that is killed
STUDY = ["-case", "fitzhugh-nagumo", "-data", str(ROOT / "reproduce" / "data.csv"), "-scheme", "pcn", "-chains", str(CHAINS),
         "-burn-in", "45000", "-draws", "5000", "-seed", "7", "-quiet"]

DAEMONS = ["munged", "slurmctld", "slurmd"]
SECONDS = 60  # the longest time to wait for Slurm


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that daemons are ended
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in DAEMONS + ["sbatch", "scancel", "scontrol", "squeue", "sinfo"] if not shutil.which(name, path=path)]
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        env = dict(os.environ, PATH=f"{work}:{path}", SLURM_CONF=str(work / "slurm.conf"))

        def run(*args, **more):
            done = subprocess.run([str(a) for a in args], env=env, cwd=work, text=True, capture_output=True, **more)
            if done.returncode:
                sys.exit(f"{args[0]} {args[1]} … ended with {done.returncode}: {done.stdout}{done.stderr}")
            return done.stdout.strip()

        subprocess.run(["go", "build", "-o", work / "probode", "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
        begin = time.monotonic()
        run("probode", "sample", *STUDY, "-dir", "one")
        whole = time.monotonic() - begin
        print(f"one machine: {whole:.1f} s", flush=True)

        run("xargs", "-P", "2", "-I{}", "probode", "sample", *STUDY, "-chain", "{}", "-dir", "xargs.parts/{}",
            input="".join(f"{k + 1}\n" for k in range(CHAINS)))
        run("probode", "merge", "xargs", *sorted(work.glob("xargs.parts/*")))
        compare(work, "one", "xargs")
        print("xargs: the same bytes", flush=True)

        for task, args, want in [({"SLURM_ARRAY_TASK_ID": "1"}, [], "no directory"), ({"SLURM_ARRAY_TASK_ID": "1"}, ["parts"], "no flags"),
                                 ({"SLURM_ARRAY_TASK_ID": ""}, ["refused", *STUDY], "not a task of a job array")]:
            done = subprocess.run(["sh", HERE / "array.sbatch", *args], env=dict(env, **task), cwd=work, text=True, capture_output=True)
            if done.returncode != 2 or want not in done.stderr or "want sbatch --array=" not in done.stderr or (work / "refused").exists():
                sys.exit(f"array.sbatch with {args} ended with {done.returncode}: {done.stderr}")

        if missing:
            print(f"Slurm test skipped: there is no {' and no '.join(missing)}; it runs in continuous integration")
            sys.exit(1 if os.environ.get("CI") else 0)
        with Slurm(work, run):
            job = run("sbatch", "--parsable", f"--array=1-{CHAINS}", HERE / "array.sbatch", "slurm.parts", *STUDY)
            percent, restarts = kill(work, run, f"{job}_{KILLED}")
            then = run("sbatch", "--parsable", f"--dependency=afterany:{job}", "--wrap", "probode merge slurm slurm.parts/*")
            state = wait("the study to be merged", lambda: ended(run, then))
        if state != "COMPLETED":
            logs = "".join(p.read_text() for p in sorted(work.glob("slurm-*.out")))
            sys.exit(f"the job that merges is {state}:\n{logs}")
        compare(work, "one", "slurm")
        print(f"Slurm: task {KILLED} killed, requeued {restarts} time, continued at {percent} %: the same bytes; {time.monotonic() - begin:.0f} s in all")


def kill(work, run, task):
    """Kills a task in the middle, requeues it, and waits until it runs again. Returns the
    progress at which it continued, and how many times Slurm has restarted it."""
    part = work / "slurm.parts" / str(KILLED) / f"chain-{KILLED}.csv.part"
    size = (work / "one" / f"chain-{KILLED}.csv").stat().st_size
    log = work / f"slurm-{task}.out"

    wait("the task to be in the middle", lambda: part.exists() and part.stat().st_size > 0.4 * size)
    # As the system does when memory runs out. A task that scancel kills counts as cancelled
    # and is not requeued.
    for line in run("scontrol", "listpids", field(run, task, "JobId")).splitlines()[1:]:
        os.kill(int(line.split()[0]), signal.SIGKILL)
    state = wait("the task to be dead", lambda: ended(run, task))
    if state != "FAILED":
        sys.exit(f"the task that was killed is {state}")
    if not part.with_name(f"chain-{KILLED}.state").exists() or not part.exists():
        sys.exit("the task that was killed has left no state")
    run("scontrol", "requeue", task)
    went = wait("the task to continue", lambda: re.search(r"continuing at (\d+) %", log.read_text()))
    restarts = int(field(run, task, "Restarts"))
    if restarts != 1 or int(went[1]) < 10:
        sys.exit(f"the task was restarted {restarts} times and continued at {went[1]} %")
    return went[1], restarts


def field(run, job, name):
    return re.search(rf"\b{name}=(\S+)", run("scontrol", "show", "job", job))[1]


def ended(run, job):
    """Returns the state of a job that is neither waiting nor running."""
    state = field(run, job, "JobState")
    return state if state not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING") else None


def wait(what, ready):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.1)
    sys.exit(f"waited {SECONDS} s in vain for {what}")


def compare(work, a, b):
    files = [{p.name: p.read_bytes() for p in (work / d).iterdir()} for d in (a, b)]
    chains = sum(name.endswith(".csv") for name in files[0])  # beside each is the state from which the chain can be extended
    if files[0] != files[1] or chains != CHAINS:
        differ = sorted(n for n in files[0].keys() | files[1].keys() if files[0].get(n) != files[1].get(n))
        sys.exit(f"{a} and {b} are not the same: {', '.join(differ) or 'files are missing'}")


class Slurm:
    """A cluster that consists of this machine, with all its files in work."""

    def __init__(self, work, run):
        self.work, self.run = work, run

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        work, host = self.work, socket.gethostname().split(".")[0]
        user = self.run("id", "-un")
        work.chmod(0o711)  # other users must be able to reach the socket of munged
        for name in ("state", "spool"):
            (work / name).mkdir()
        (work / "munge.key").write_bytes(os.urandom(128))
        (work / "munge.key").chmod(0o600)
        # A task that was requeued has to wait for cred_expire.
        (work / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmctldLogFile={work}/slurmctld.log
SlurmdLogFile={work}/slurmd.log
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        self.run("munged", "--force", f"--key-file={work}/munge.key", f"--socket={work}/munge.socket",
                 f"--pid-file={work}/munged.pid", f"--log-file={work}/munged.log", f"--seed-file={work}/munge.seed")
        self.run("slurmctld")
        self.run("slurmd", "-N", host)
        wait("Slurm's node", lambda: self.run("sinfo", "-h", "-o", "%T") == "idle")

    def stop(self):
        """Ends the tasks and then the daemons, by their process numbers."""
        pids = [int(p.read_text()) for name in reversed(DAEMONS) if (p := self.work / f"{name}.pid").exists()]
        if pids:
            subprocess.run(["scancel", "--full", "--state=RUNNING", "--signal=KILL", "--name=probode"], check=False,
                           env=dict(os.environ, SLURM_CONF=str(self.work / "slurm.conf")), timeout=10)
        for pid in pids:
            for sign, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
                try:
                    os.kill(pid, sign)
                    end = time.monotonic() + seconds
                    while time.monotonic() < end:
                        os.kill(pid, 0)
                        time.sleep(0.05)
                except ProcessLookupError:
                    break


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    main()
