"""Checks the manifests for Kubernetes with its own schemas, and runs here what each pod
would run. One pod is killed and replaced; the files must be those of a single machine.

    environment/lab setup-test
    environment/lab run python environment/kubernetes/test.py

There is no cluster. The command of a pod runs in the environment that the controller of
the Job would give it, with a local folder as the volume.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import kubernetes_validate
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

VERSIONS = [f"1.{minor}" for minor in range(29, 38)]  # the first one counts failures for each index

# Replaces the number in the manifest, so that the test takes seconds: the last of two equal flags counts.
QUICK = ["-draws", "6000", "-burn-in", "45000"]
KILLED = 2  # the index


def main():
    manifests = {name: yaml.safe_load((HERE / name).read_text()) for name in ("job.yaml", "merge.yaml")}
    for name, manifest in manifests.items():
        for version in VERSIONS:
            kubernetes_validate.validate(manifest, version, strict=True)
        # The validator must find a wrong key; otherwise it checks nothing.
        wrong = dict(manifest, spec=dict(manifest["spec"], compleetions=8))
        try:
            kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)
        except kubernetes_validate.ValidationError:
            continue
        sys.exit(f"{name}: a key that Kubernetes does not know is accepted")
    print(f"job.yaml and merge.yaml: valid for Kubernetes {VERSIONS[0]} to {VERSIONS[-1]}", flush=True)

    spec = manifests["job.yaml"]["spec"]
    study = container(manifests["job.yaml"])["args"]
    chains = spec["completions"]
    if spec["completionMode"] != "Indexed" or study[study.index("-chains") + 1] != str(chains):
        sys.exit(f"job.yaml: {chains} completions of {study}")
    if any(len({str(container(m)[key]) for m in manifests.values()}) > 1 for key in ("image", "volumeMounts", "securityContext")):
        sys.exit("job.yaml and merge.yaml differ in image, volume or rights")

    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        subprocess.run(["go", "build", "-o", work / "probode", "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
        finish(subprocess.Popen([work / "probode", "sample", *study, *QUICK, "-dir", work / "one", "-quiet"], stdout=subprocess.DEVNULL))
        size = (work / "one" / f"chain-{KILLED + 1}.csv").stat().st_size

        # Killed in the middle, as if its node had failed, and replaced.
        killed = pod(manifests["job.yaml"], work, KILLED)
        part = work / "runs" / "parts" / str(KILLED + 1) / f"chain-{KILLED + 1}.csv.part"
        while not (part.exists() and part.stat().st_size > 0.4 * size):
            if killed.poll() is not None:
                sys.exit("the pod ended before it could be killed")
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        if not part.exists():
            sys.exit("the pod that was killed had finished")
        for first in range(0, chains, 2):  # two at a time
            for p in [pod(manifests["job.yaml"], work, index) for index in range(first, min(first + 2, chains))]:
                finish(p)
        finish(pod(manifests["merge.yaml"], work))
        a, b = ({p.name: p.read_bytes() for p in (work / d).iterdir()} for d in ("one", "runs/merged"))
        if a != b or sum(name.endswith(".csv") for name in a) != chains:
            sys.exit(f"one machine and {chains} pods differ: {sorted(n for n in a.keys() | b.keys() if a.get(n) != b.get(n))}")
    print(f"{chains} pods, one killed and replaced: the same bytes")


def container(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]


def pod(manifest, work, index=None):
    """Starts the command of a pod, with only the index in its environment."""
    c = container(manifest)
    mount, = (m["mountPath"] for m in c["volumeMounts"])
    (work / "runs").mkdir(exist_ok=True)
    command = [word.replace(mount + "/", f"{work}/runs/") for word in c["command"] + c.get("args", [])]
    env = {"PATH": f"{work}:{os.environ['PATH']}"}
    if index is not None:
        command += QUICK
        env["JOB_COMPLETION_INDEX"] = str(index)
    return subprocess.Popen(command, env=env, cwd="/", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process):
    out = process.communicate()[0]
    if process.returncode:
        sys.exit(f"{process.args} ended with {process.returncode}: {out}")


if __name__ == "__main__":
    main()
