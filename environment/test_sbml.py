"""Compares random models in SBML with two other programs: libSBML must find each valid,
and libRoadRunner must compute the same species from it as probode does.

    environment/lab setup-test
    environment/lab run python environment/test_sbml.py [NUMBER [FIRST]]

Without a number there are 300 models. Triggers may depend on the state.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import libsbml
import numpy as np
import pandas as pd
import roadrunner

ROOT = pathlib.Path(__file__).resolve().parent.parent
EVENTS = [1.25, 3.75]
TIMES = np.sort(np.append(np.linspace(0, 6, 13).round(4) + 0.0137, EVENTS))

# The names of parameters and arguments include those that formulas use for something else.
NAMES = ["time", "pi", "e", "avogadro", "exp", "t", "x"]


class Model:
    """A random model in which everything stays finite: species are made at bounded rates
    and decay."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.document = libsbml.SBMLDocument(3, 1)
        self.model = m = self.document.createModel()
        m.setId(f"model{seed}")
        self.species, self.values = [], ["time"]
        self.parameter("k0", self.rate())
        for i in range(rng.randint(1, 2)):
            c = m.createCompartment()
            c.setId(f"c{i}"), c.setConstant(True), c.setSize(rng.choice([1, 0.5, 3])), c.setSpatialDimensions(3)
        if rng.random() < 0.5:
            self.function()
        for i in range(rng.randint(1, 4)):
            self.a_species(i)
        for i in range(rng.randint(0, 2)):
            self.assigned(i)
        for i, s in enumerate(self.species):
            self.reactions(i, s)
        if rng.random() < 0.3:
            self.rate_rule()
        for i in range(rng.randint(0, 2)):
            self.event(i)

    def rate(self):
        return round(self.rng.uniform(0.1, 1), 3)

    def parameter(self, name, value=None, constant=True):
        p = self.model.createParameter()
        p.setId(name), p.setConstant(constant)
        if value is not None:
            p.setValue(value)
        self.values.append(name)

    def function(self):
        f = self.model.createFunctionDefinition()
        f.setId("saturate")
        a, b = self.rng.sample(NAMES, 2)
        f.setMath(self.lambda_of([a, b], f"abs({a})/(1+abs({a})+abs({b}))"))

    def lambda_of(self, arguments, body):
        """The names of arguments are names here, whatever they mean elsewhere."""
        node = libsbml.ASTNode(libsbml.AST_LAMBDA)
        for a in arguments:
            node.addChild(self.name(a))
        node.addChild(self.renamed(libsbml.parseL3Formula(body.replace("time", "time_")), set(arguments)))
        return node

    def name(self, a):
        node = libsbml.ASTNode(libsbml.AST_NAME)
        node.setName(a)
        return node

    def renamed(self, node, names):
        """Makes ordinary names of the symbols in a formula that are called as they are."""
        n = (node.getName() or libsbml.formulaToL3String(node)).rstrip("_") if node.getNumChildren() == 0 else ""
        if n in names:
            return self.name(n)
        for i in range(node.getNumChildren()):
            node.replaceChild(i, self.renamed(node.getChild(i).deepCopy(), names))
        return node

    def math(self, text):
        node = libsbml.parseL3Formula(text)
        assert node is not None, (text, libsbml.getLastParseL3Error())
        return node

    def a_species(self, i):
        rng = self.rng
        s = self.model.createSpecies()
        s.setId(f"S{i}"), s.setCompartment(rng.choice([c.getId() for c in self.model.getListOfCompartments()]))
        s.setHasOnlySubstanceUnits(rng.random() < 0.4), s.setConstant(False), s.setBoundaryCondition(False)
        (s.setInitialAmount if rng.random() < 0.5 else s.setInitialConcentration)(rng.choice([0, 1, 2.5]))
        if rng.random() < 0.2:
            a = self.model.createInitialAssignment()
            a.setSymbol(s.getId()), a.setMath(self.math("2*k0 + exp(-1)"))
        self.species.append(s)
        self.values.append(s.getId())

    def bounded(self):
        """A formula with values from 0 to about 2."""
        rng = self.rng
        v = rng.choice(self.values)
        w = rng.choice(self.values)
        forms = [f"abs({v})/(1+abs({v}))", f"exp(-abs({v}))", f"1+sin({v})", "piecewise(1, k0 > 0.5, 0.5)",
                 f"piecewise(0.3, time < {rng.choice([1, 2.5])}, 1)", f"tanh(abs({v}*{w}))", "k0"]
        if self.model.getNumFunctionDefinitions():
            forms.append(f"saturate({v}, {w})")
        return rng.choice(forms)

    def assigned(self, i):
        formula = self.bounded()
        self.parameter(f"a{i}", constant=False)
        r = self.model.createAssignmentRule()
        r.setVariable(f"a{i}"), r.setMath(self.math(formula))

    def reactions(self, i, s):
        """One that makes the species, perhaps from another, and one that removes it."""
        rng = self.rng
        r = self.model.createReaction()
        r.setId(f"make{i}"), r.setReversible(False), r.setFast(False)
        self.reference(r.createProduct(), s, rng.choice([1, 2]))
        law, other = self.bounded(), rng.choice(self.species)
        if other is not s:
            self.reference(r.createReactant(), other, 1)
            # Not faster than what is there.
            law = f"({law})*{other.getId()}/(1+abs({other.getId()}))"
        part = {s.getId()} | ({other.getId()} if other is not s else set())
        for name in sorted(set(re.findall(r"\bS\d", law)) - part):
            r.createModifier().setSpecies(name)
        k = r.createKineticLaw()
        k.setMath(self.math(law))
        r = self.model.createReaction()
        r.setId(f"remove{i}"), r.setReversible(False), r.setFast(False)
        self.reference(r.createReactant(), s, 1)
        name = rng.choice(NAMES + ["k0", "local"])  # a local parameter hides what has its name
        k = r.createKineticLaw()
        p = k.createLocalParameter()
        p.setId(name), p.setValue(self.rate())
        product = libsbml.ASTNode(libsbml.AST_TIMES)
        product.addChild(self.name(name)), product.addChild(self.name(s.getId()))
        product.addChild(self.math(rng.choice(["1", "1 + exp(-time)", "pi/exponentiale"])))  # symbols, not names
        k.setMath(product)

    def reference(self, r, s, n):
        r.setSpecies(s.getId()), r.setStoichiometry(n), r.setConstant(True)

    def rate_rule(self):
        self.parameter("q", 1, constant=False)
        r = self.model.createRateRule()
        r.setVariable("q"), r.setMath(self.math(f"{self.bounded()} - q"))

    def event(self, i):
        rng = self.rng
        at = EVENTS[i]
        e = self.model.createEvent()
        e.setUseValuesFromTriggerTime(True)
        t = e.createTrigger()
        t.setInitialValue(True), t.setPersistent(True)
        linear = [f"time >= {at}", f"time > {at}", f"{at} <= time", f"2*time - {2 * at} > 0"]
        s = rng.choice(self.species).getId()
        other = [f"time + piecewise(0, time < {at}, 5) >= {at}", f"{s} < 0.51", f"{s} > 0.77 && time < {at + 0.4}", f"{s} - 0.1*time <= 0.33"]
        triggered = rng.random() < 0.3
        if triggered and rng.random() < 0.3:
            t.setInitialValue(False)
        t.setMath(self.math(rng.choice(other if triggered else linear)))
        a = e.createEventAssignment()
        a.setVariable(s), a.setMath(self.math(rng.choice([f"{s} + 1", f"{s}/2", "k0"])))

    def write(self, folder):
        """Writes the model and a problem of PEtab that observes all its species."""
        libsbml.writeSBMLToFile(self.document, str(folder / "model.xml"))
        names = [s.getId() for s in self.species]
        tables = {
            "parameters": ["parameterId\tparameterScale\tlowerBound\tupperBound\tnominalValue\testimate",
                           f"k0\tlin\t0\t10\t{self.model.getParameter('k0').getValue()}\t1"],
            "conditions": ["conditionId", "c"],
            "observables": ["observableId\tobservableFormula\tnoiseFormula"] + [f"o{n}\t{n}\t1" for n in names],
            "measurements": ["observableId\tsimulationConditionId\ttime\tmeasurement"] + [f"o{n}\tc\t{t}\t0" for n in names for t in TIMES],
        }
        for name, lines in tables.items():
            (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
        (folder / "problem.yaml").write_text("format_version: 1\nparameter_file: parameters.tsv\nproblems:\n- sbml_files: [model.xml]\n"
                                             "  condition_files: [conditions.tsv]\n  observable_files: [observables.tsv]\n  measurement_files: [measurements.tsv]\n")


def invalid(document):
    document.setConsistencyChecks(libsbml.LIBSBML_CAT_UNITS_CONSISTENCY, False)
    document.setConsistencyChecks(libsbml.LIBSBML_CAT_MODELING_PRACTICE, False)
    document.checkConsistency()
    log = [document.getError(i) for i in range(document.getNumErrors())]
    return [e.getMessage().strip() for e in log if e.getSeverity() >= libsbml.LIBSBML_SEV_ERROR]


def values(model, path, step=0.05):
    """What libRoadRunner computes for all species with steps of at most this size: in formulas
    a species is its amount or its concentration."""
    r = roadrunner.RoadRunner(str(path))
    r.integrator.relative_tolerance, r.integrator.absolute_tolerance = 1e-10, 1e-12
    r.integrator.maximum_num_steps, r.integrator.maximum_time_step = 1000000, step
    r.timeCourseSelections = ["time"] + [s.getId() if s.getHasOnlySubstanceUnits() else f"[{s.getId()}]" for s in model.species]
    return np.array(r.simulate(times=[0, *TIMES]))[1:, 1:]


# Models in which the times of an event accumulate: the event moves the state to a
# threshold that it meets again at once. probode refuses them; libRoadRunner steps over the
# limit.
accumulating = []


def compare(seed, probode, work):
    """Returns what is wrong with the model of this number, or None."""
    model, folder = Model(seed), work / str(seed)
    folder.mkdir()
    model.write(folder)
    if found := invalid(model.document):
        return f"libSBML finds the model invalid: {found[0]}"
    want = values(model, folder / "model.xml")
    run = subprocess.run([probode, "likelihood", folder, "-json", "-"], capture_output=True, text=True)
    if run.returncode and "happens again and again" in run.stderr:
        accumulating.append(seed)
        return None
    if run.returncode:
        return f"probode: {run.stderr.strip()}"
    table = pd.read_csv(folder / "measurements.tsv", sep="\t").sort_values("time", kind="stable")
    table["simulation"] = json.loads(run.stdout)["conditions"][0]["simulated"]
    # libRoadRunner looks at triggers only at the ends of its steps, so it misses one that is
    # true for a shorter time.
    found = differs(model, table, want)
    return found and differs(model, table, values(model, folder / "model.xml", 1e-4))


def differs(model, table, want):
    """Returns the largest difference of the first species that differs, or None."""
    for k, s in enumerate(model.species):
        got = table[table.observableId == f"o{s.getId()}"]["simulation"].to_numpy()
        worst = np.max(np.abs(got - want[:, k]))
        # Both follow a kink or a jump to within their tolerances.
        if not worst <= 1e-5 * max(1, np.max(np.abs(want[:, k]))):
            n = int(np.argmax(np.abs(got - want[:, k])))
            return f"{s.getId()} at t = {TIMES[n]:g} is {got[n]:.8g}, by libRoadRunner {want[n, k]:.8g}"
    return None


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    roadrunner.Logger.setLevel(roadrunner.Logger.LOG_ERROR)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        probode = work / "probode"
        subprocess.run(["go", "build", "-o", probode, "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            seeds = range(first, first + number)
            for seed, found in zip(seeds, pool.map(lambda seed: compare(seed, probode, work), seeds)):
                if found:
                    wrong += 1
                    print(f"model {seed}: {found}", flush=True)
        print(f"{number} models in SBML, {wrong} differ from libSBML or libRoadRunner, {len(accumulating)} have an event whose times accumulate")
    sys.exit(wrong > 0 or len(accumulating) > number // 100 + 1)


if __name__ == "__main__":
    main()
