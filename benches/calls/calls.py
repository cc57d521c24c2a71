"""What a cell compiles of the library: one function for every public function, method and type of the prelude.

    python3 benches/calls/calls.py RUSTDOC_JSON ARTIFACTS [--check] [--time N]

RUSTDOC_JSON describes the crate `taper` (`cargo rustdoc -- -Zunstable-options --output-format json`), and files beside it
its other crates; ARTIFACTS is what cargo prints when it compiles the crate (`cargo build --lib --message-format=json`). Each call gets its arguments as
parameters, so that its function contains the call, the drop of the result, and what these compile. All functions are
compiled as one cell. The size of a call includes its function and all functions in the object file that it reaches.
"""

import argparse, json, pathlib, re, resource, struct, subprocess, sys, tempfile

FLAGS = ["--edition=2024", "--crate-name=ctx", "--crate-type=cdylib", "-Cprefer-dynamic", "-Copt-level=1",
    "-Ccodegen-units=1", "-Cdebug-assertions=on", "-Cstrip=debuginfo", "-Csymbol-mangling-version=v0", "--emit=obj"]
HEAD = """#![allow(unused)]
use taper::prelude::*;
#[derive(Parameters)]
pub struct Net { a: Linear, b: Linear }
impl Layer for Net { fn forward(&self, x: &Tensor) -> Tensor { self.b.forward(&self.a.forward(x)) } }
impl Module for Net { fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor { mse_loss(y_hat, y) } }
"""
# The type that a call passes for `impl Trait`, by trait and arguments.
GENERIC = {"Display": "&str", "Into<Axis>": "i32", "Into<Axes>": "(i32, i32)", "Into<Pair>": "usize", "Into<Triple>": "usize", "Into<OutputSize>": "usize", "Into<Option<f64>>": "f64", "Into<String>": "&str",
    "Into<Operand>": "&Tensor", "AsRef<Path>": "&str", "AsRef<str>": "&str", "Number": "f64", "Into<Number>": "f64", "Into<Shape>": "(usize, usize)", "Into<Sizes>": "(usize, i32)", "Into<Integer>": "usize", "Into<Shifts>": "i32",
    "BatchData": "Batch", "WithDType": "f32", "Into<Vec<f64>>": "Vec<f64>", "Into<Vec<usize>>": "Vec<usize>",
    "DataModule": "Digits", "Dataset": "TensorDataset", "Outcome": "()", "Transform": "Normalize",
    "ShapeWithOneHole": "(usize, ())", "AsRef<Tensor>": "Tensor", "LrSchedule": "Schedule", "Sampler": "WeightedSampler",
    "Into<PathBuf>": "&str", "Into<Nonlinearity>": "ReLU", "Into<Activation>": "GELU", "IntoLayer": "Linear", "Show": "Tensor", "ToString": "&str", "Indices": "i32", "Into<i64>": "i64",
    "NdArray": "&[f32; 3]", "Scalar": "f32", "Into<HParam>": "f64", "Callback": "EarlyStopping", "Module": "Net", "Optimizer": "Adam",
    "Layer": "Net", "Parameters": "Net", "Sized": "Tensor", "Clone": "Tensor", "Send": "Tensor", "Debug": "TensorDataset",
    "ExactSizeIterator": "std::vec::IntoIter<usize>"}
# The type that a call has for a generic parameter without bounds.
FREE = {"T": "Tensor", "X": "Tensor", "Y": "Tensor", "N": "Sequential", "M": "Net", "D": "TensorDataset",
    "I": "std::vec::IntoIter<usize>", "B": "Batch"}
# Traits that only the compiler or other functions of the library use.
UNCALLED = {"StructuralPartialEq", "Parameters", "Drop"}
# The type on which the methods of a trait are called.
SELVES = {"Layer": "Linear", "Parameters": "Sequential", "ParametersExt": "Sequential", "DeviceExt": "Device", "Module": "Net",
    "Dataset": "TensorDataset", "DataModule": "Digits", "Optimizer": "Adam", "LrSchedule": "Schedule",
    "Callback": "EarlyStopping", "Show": "Tensor", "Transform": "Normalize", "Sampler": "WeightedSampler",
    "BatchData": "Batch", "Init": "Init", "Tokenizer": "CharTokenizer"}
# The bytes of code that a call may compile in the cell. On a machine with nothing else to do, a call of this size takes
# rustc 22 to 37 ms more than an empty cell; about 12 of them are a table that the first generic function needs.
LIMIT = 950
# Calls that may compile more, and why.
MODEL, DATA, CELL = "methods of the user's model", "parts of the user's data set", "a whole cell"
LARGER = {
    "Trainer::fit": (4600, MODEL), "Trainer::test": (4600, MODEL), "Trainer::validate": (4600, MODEL),
    "Classifier<Net> as Module::configure_optimizers": (1200, MODEL),
    "Classifier<Sequential>::optimizer": (1200, "the table of the optimiser's methods"),
    "Trainer::predict": (7000, MODEL), "Trainer::lr_find": (4200, MODEL), "Trainer::prepare_model": (2200, MODEL),
    "DataParallel<Net>::new": (4000, MODEL), "DataParallel<Net>::backward": (5700, MODEL),
    "DataParallel<Net>::broadcast": (2200, MODEL), "DataParallel<Net>::train": (2200, MODEL),
    "DataParallel<Net>::eval": (2200, MODEL), "compare_batch_sizes": (5000, MODEL),
    "compare_devices": (1700, "the user's closures"), "Progress<TensorDataset> as Debug::fmt": (4200, "prints the user's iterator"),
    "Tensor::to_vec2": (1900, "generic over the type of the elements"), "Tensor::to_vec3": (3600, "generic over the type of the elements"),
    "DataLoader<Batch>::new": (1600, DATA), "k_folds": (2900, DATA), "random_split": (2000, DATA),
    "Sequential as FromIterator<L>::from_iter": (1100, "the iterator over the user's layers"),
    "ImageFolder::from_files": (1200, "the user's lists"),
    "AveragedWeights::update": (1500, "walks through the model twice"), "AveragedWeights::copy_to": (1500, "walks through the model twice"),
    "Module::manual_step": (1200, MODEL),
    "ParametersExt::summary": (1500, "reads the rows of the table"), "ParametersExt::measured_summary": (1500, "reads the rows of the table"),
    "ParametersExt::load_parameters": (1500, "walks through the model twice"), "ParametersExt::load_parameters_with": (1200, "walks through the model twice"),
    "seq! of a multilayer perceptron, forward": (1600, CELL), "seq! of a convolutional network, forward": (3000, CELL),
    "Trainer and Classifier, fit": (4800, CELL), "a loop over minibatches": (2400, CELL),
}
# Calls that cannot be derived.
CALLS = {
    "check": ("a0: &str, a1: f64", "check(a0, a1)"),
    "interact": ("", 'interact(slider("x", 0.0..=1.0), |x: f64| Ok(x))'),
    "Tensor::to_scalar": ("a0: &Tensor", "a0.to_scalar::<f32>()"),
    "Tensor::to_vec": ("a0: &Tensor", "a0.to_vec::<f32>()"),
    "Tensor::to_vec1": ("a0: &Tensor", "a0.to_vec1::<f32>()"),
    "Tensor::to_vec2": ("a0: &Tensor", "a0.to_vec2::<f32>()"),
    "Tensor::to_vec3": ("a0: &Tensor", "a0.to_vec3::<f32>()"),
    "Tensor::apply": ("a0: &Tensor, a1: &taper::candle_nn::Linear", "a0.apply(a1)"),
    "Tensor::chunks": ("a0: &Tensor", "a0.chunks::<3>(-1)"),
    "SummaryWriter::add_hparams": ("a0: &mut SummaryWriter", 'a0.add_hparams(&[("lr", 0.1)], &[("loss", 0.5)])'),
    "Step::batch": ("a0: &Step", "a0.batch::<Batch>()"),
    "ListDataset<Tensor, Batch>::new": ("a0: Vec<f32>", "ListDataset::new(a0, |_: &[&f32]| -> Result<Batch> { Err(Error::msg(1)) })"),
}
# Whole cells.
EXTRA = {
    "seq! of a multilayer perceptron, forward": ("x: &Tensor",
        "{ let net = seq![Flatten, LazyLinear::new(256), ReLU, Dropout::new(0.5), LazyLinear::new(10)]; net.forward(x) }"),
    "seq! of a convolutional network, forward": ("x: &Tensor",
        "{ let net = seq![LazyConv2d::new(6, 5).padding(2), LazyBatchNorm2d::new(), ReLU, MaxPool2d::new(2), Conv2d::new(6, 16, 5), Sigmoid, AvgPool2d::new(2), Flatten, Linear::new(400, 120), ReLU, LazyLinear::new(10)]; net.forward(x) }"),
    "Trainer and Classifier, fit": ("data: &Digits",
        "{ let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1); Trainer::new(5).num_gpus(1).fit(&mut model, data) }"),
    "a loop over minibatches": ("loader: &DataLoader, net: &Sequential, optimizer: &mut SGD",
        "(|| -> Result<()> { for batch in loader { let Batch { x, y } = batch?; let loss = cross_entropy(&net.forward(&x), &y); optimizer.step(&loss.backward()); } Ok(()) })()"),
    "compose!": ("", "compose![Resize::new(8), ToTensor]"),
    "timeit!": ("x: &Tensor", "timeit!(x.exp())"),
}


def of_crate(name, value):
    """Returns a description whose ids begin with the name of the crate: each crate counts its own."""
    def named(id):
        return id if id is None else f"{name}:{id}"
    if isinstance(value, list):
        return [of_crate(name, item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, item in value.items():
        if key in ("id", "root") and isinstance(item, int):
            item = named(item)
        elif key in ("items", "impls", "implementations", "fields", "variants") and isinstance(item, list):
            item = [named(id) for id in item]
        elif key in ("index", "paths"):
            item = {named(id): of_crate(name, of) for id, of in item.items()}
        else:
            item = of_crate(name, item)
        found[key] = item
    return found


class Hidden(KeyError):
    """A type that the documentation leaves out."""


class Crate:
    def __init__(self, path):
        files = [path, *sorted(path.parent.glob("taper_*.json"))]
        described = {file.stem: of_crate(file.stem, json.loads(file.read_text())) for file in files}
        self.index = {id: item for crate in described.values() for id, item in crate["index"].items()}
        self.paths = {id: item for crate in described.values() for id, item in crate["paths"].items()}
        defined = {(item["kind"], *item["path"]): id for name, crate in described.items()
            for id, item in crate["paths"].items() if item["path"][0] == name and id in crate["index"]}
        # What a crate calls an item of another one, and what that one calls it.
        self.same = {id: defined.get((item["kind"], *item["path"]), id) for id, item in self.paths.items()}
        self.seen = set()
        root = self.item(described["taper"]["root"])
        prelude = next(i for i in map(self.item, root["inner"]["module"]["items"]) if i["name"] == "prelude")
        uses = [self.item(i)["inner"]["use"] for i in prelude["inner"]["module"]["items"]]
        self.prelude = {self.same.get(use["id"], use["id"]): use["name"] for use in uses}
        self.public = {}
        self.publish(root, "taper")

    def item(self, id):
        return self.index.get(self.same.get(id, id))

    def publish(self, module, path):
        """Notes the shortest path under which each item can be named."""
        self.seen.add(module["id"])
        for item in map(self.item, module["inner"]["module"]["items"]):
            use = item["inner"].get("use")
            if use and use["is_glob"]:
                target = self.item(use["id"])
                if target and target["id"] not in self.seen:
                    self.publish(target, path)
                continue
            id, name = (self.same.get(use["id"], use["id"]), use["name"]) if use else (item["id"], item["name"])
            if id not in self.public or len(self.public[id]) > len(f"{path}::{name}"):
                self.public[id] = f"{path}::{name}"
            target = self.item(id)
            if target and "module" in target["inner"] and id not in self.seen:
                self.publish(target, f"{path}::{name}")

    def public_path(self, id, path):
        id = self.same.get(id, id)
        if id in self.prelude:
            return self.prelude[id]
        if id in self.public:
            return self.public[id]
        if id not in self.paths:
            raise Hidden(path)
        known = self.paths[id]["path"]
        if known[0] in ("core", "alloc", "std"):
            return f"std::{known[1]}::{known[-1]}"
        return f"taper::{known[0]}::{known[-1]}"

    def type(self, t, env):
        """Returns the type in Rust, with the generic parameters of `env` replaced."""
        kind, value = next(iter(t.items()))
        if kind == "resolved_path":
            return self.public_path(value["id"], value["path"]) + self.arguments(value["args"], env)
        if kind == "generic":
            return env[value]
        if kind == "primitive":
            return "!" if value == "never" else value
        if kind == "borrowed_ref":
            return f"&{'mut ' if value['is_mutable'] else ''}{self.type(value['type'], env)}"
        if kind == "slice":
            return f"[{self.type(value, env)}]"
        if kind == "array":
            return f"[{self.type(value['type'], env)}; {env.get(value['len'], value['len'])}]"
        if kind == "tuple":
            return "(" + "".join(self.type(i, env) + ", " for i in value) + ")"
        if kind == "impl_trait":
            return self.stand_in(value, env)
        if kind == "dyn_trait":
            bounds = [self.path(b["trait"], env) for b in value["traits"]]
            return f"(dyn {' + '.join(bounds)})"
        if kind == "function_pointer":
            inputs = ", ".join(self.type(i, env) for _, i in value["sig"]["inputs"])
            output = value["sig"]["output"]
            return f"fn({inputs})" + (f" -> {self.type(output, env)}" if output else "")
        if kind == "qualified_path":
            return f"<{self.type(value['self_type'], env)} as {self.path(value['trait'], env)}>::{value['name']}"
        raise KeyError(kind)

    def path(self, trait, env):
        return self.public_path(trait["id"], trait["path"]) + self.arguments(trait["args"], env)

    def arguments(self, arguments, env):
        if not arguments:
            return ""
        if "parenthesized" in arguments:
            inner = arguments["parenthesized"]
            output = f" -> {self.type(inner['output'], env)}" if inner["output"] else ""
            return f"({', '.join(self.type(i, env) for i in inner['inputs'])}){output}"
        inner = arguments["angle_bracketed"]
        found = [self.type(a["type"], env) if "type" in a else a.get("lifetime") or a["const"]["expr"] for a in inner["args"] if a != "infer"]
        found = [env.get(a, a) for a in found if not a.startswith("'")]
        for c in inner["constraints"]:
            if "type" in c["binding"].get("equality", {}):
                found.append(f"{c['name']}={self.type(c['binding']['equality']['type'], env)}")
        return f"<{', '.join(found)}>" if found else ""

    def stand_in(self, bounds, env):
        """Returns the type that a call has for a generic parameter with these bounds."""
        names = []
        for bound in bounds:
            if "trait_bound" not in bound:
                continue
            trait = bound["trait_bound"]["trait"]
            last = trait["path"].split("::")[-1]
            if last in ("Fn", "FnMut", "FnOnce"):
                arguments = trait["args"]["parenthesized"]
                output = self.type(arguments["output"], env) if arguments["output"] else "()"
                return f"fn({', '.join(self.type(i, env) for i in arguments['inputs'])}) -> {output}"
            if last in ("IntoIterator", "Iterator"):
                for c in trait["args"]["angle_bracketed"]["constraints"] if trait["args"] else []:
                    return f"Vec<{self.type(c['binding']['equality']['type'], env)}>"
                return "Vec<usize>" if last == "IntoIterator" else "std::vec::IntoIter<usize>"
            name = last + self.short(trait["args"])
            names.append(name)
        for name in names:
            for candidate in (name, name.split("<")[0]):
                if candidate in GENERIC:
                    return GENERIC[candidate]
        raise KeyError("no type for " + " + ".join(names))

    def short(self, arguments):
        """Returns the generic arguments with the last parts of paths alone."""
        if not arguments or "angle_bracketed" not in arguments:
            return ""
        def last(t):
            if "resolved_path" in t:
                return t["resolved_path"]["path"].split("::")[-1] + self.short(t["resolved_path"]["args"])
            return t.get("primitive") or t.get("generic") or "_"
        found = [last(a["type"]) for a in arguments["angle_bracketed"]["args"] if "type" in a]
        return f"<{', '.join(found)}>" if found else ""

    def environment(self, generics, env):
        env = dict(env)
        bounds = {}
        for parameter in generics["params"]:
            if "type" in parameter["kind"]:
                bounds[parameter["name"]] = list(parameter["kind"]["type"]["bounds"])
            elif "const" in parameter["kind"]:
                env[parameter["name"]] = "2"
        for predicate in generics["where_predicates"]:
            predicate = predicate.get("bound_predicate")
            if predicate and "generic" in predicate["type"] and predicate["type"]["generic"] in bounds:
                bounds[predicate["type"]["generic"]] += predicate["bounds"]
        pending = list(bounds.items())
        for _ in range(len(pending) + 1):
            for name, of in list(pending):
                if name in env:
                    pending.remove((name, of))
                    continue
                try:
                    env[name] = self.stand_in(of, env) if any("trait_bound" in b for b in of) else FREE.get(name, "Tensor")
                    pending.remove((name, of))
                except KeyError as error:
                    problem = error
        if pending:
            raise problem
        return env

    def calls(self):
        """Returns a name and the parameters and the expression of a call for each function and method, or the reason why there is none."""
        for id, name in self.prelude.items():
            item = self.item(id)
            if not item:
                continue
            kind, inner = next(iter(item["inner"].items()))
            if kind == "function":
                yield self.call(name, name, inner, {})
            elif kind in ("struct", "enum"):
                yield from self.of_type(name, inner)
            elif kind == "trait":
                yield from self.of_trait(name, inner)

    def of_type(self, name, inner):
        for impl in (self.item(i)["inner"]["impl"] for i in inner["impls"]):
            if impl["is_synthetic"] or impl["blanket_impl"] or impl["is_negative"]:
                continue
            trait = impl["trait"]
            if trait and trait["path"].split("::")[-1] in UNCALLED:
                continue
            label = name
            try:
                env = self.environment(impl["generics"], {})
                of = env["Self"] = self.type(impl["for"], env)
                # An implementation for another type that mentions this one is found there.
                if of.lstrip("&").split("<")[0] != name:
                    continue
                start = f"<{of}>"
                if trait:
                    label = f"{of} as {trait['path'].split('::')[-1]}{self.short(trait['args'])}"
                    start = f"<{of} as {self.path(trait, env)}>"
                else:
                    label = of
            except Hidden:
                continue  # for a type that no cell names
            except KeyError as error:
                yield label, None, f"{error}"
                continue
            for method in map(self.item, impl["items"]):
                if "function" in method["inner"]:
                    yield self.call(f"{label}::{method['name']}", f"{start}::{method['name']}", method["inner"]["function"], env)

    def of_trait(self, name, inner):
        try:
            env = self.environment(inner["generics"], {})
            of = env["Self"] = SELVES[name]
            env |= {"Y": "Tensor"} if name == "Module" else {}
        except KeyError as error:
            yield name, None, f"no type for the trait {error}"
            return
        parameters = [env[p["name"]] for p in inner["generics"]["params"] if "type" in p["kind"]]
        start = f"<{of} as {name}{'<' + ', '.join(parameters) + '>' if parameters else ''}>"
        for method in map(self.item, inner["items"]):
            if "function" in method["inner"]:
                yield self.call(f"{name}::{method['name']}", f"{start}::{method['name']}", method["inner"]["function"], env)

    def call(self, name, function, inner, env):
        if name in CALLS:
            return (name, *CALLS[name])
        try:
            env = self.environment(inner["generics"], env)
            types = [self.type(t, env) for _, t in inner["sig"]["inputs"]]
        except KeyError as error:
            return name, None, f"{error}"
        # `str`, slices and trait objects are unsized only behind a reference.
        parameters = ", ".join(f"a{i}: {t}" for i, t in enumerate(types))
        return name, parameters, f"{function}({', '.join(f'a{i}' for i in range(len(types)))})"


class Object:
    """The functions of an object file, with what each reaches."""

    def __init__(self, data):
        def unpack(form, at):
            return struct.unpack_from("<" + form, data, at)
        table, = unpack("Q", 0x28)
        size, count, strings = unpack("HHH", 0x3A)
        heads = [unpack("IIQQQQIIQQ", table + size * i) for i in range(count)]
        def text(section, at):
            start = heads[section][4] + at
            return data[start:data.index(b"\0", start)].decode()
        # Sections with code; each function is in a section of its own.
        self.size = [h[5] if h[2] & 4 else 0 for h in heads]
        self.reaches, self.defined, symbols = [set() for _ in heads], {}, []
        for head in heads:
            if head[1] == 2:
                for at in range(head[4], head[4] + head[5], 24):
                    name, info, _, section, _, _ = unpack("IBBHQQ", at)
                    symbols.append(section if 0 < section < 0xFF00 else 0)
                    if 0 < section < 0xFF00 and info & 15 == 2:
                        self.defined[text(head[6], name)] = section
        for head in heads:
            if head[1] == 4:
                for at in range(head[4], head[4] + head[5], 24):
                    self.reaches[head[7]].add(symbols[unpack("QQq", at)[1] >> 32])
        self.reaches = [r - {0} for r in self.reaches]

    def of(self, name):
        """Returns the bytes of code that a function reaches, with its own."""
        seen, pending = set(), [self.defined[name]]
        while pending:
            section = pending.pop()
            if section not in seen:
                seen.add(section)
                pending += self.reaches[section]
        return sum(self.size[s] for s in seen)


def libraries_in(artifacts):
    """Returns the options with which rustc finds the compiled crate and what it needs."""
    messages = [json.loads(line) for line in artifacts.read_text().splitlines()]
    messages = [m for m in messages if m["reason"] == "compiler-artifact" and "custom-build" not in m["target"]["kind"]]
    folders = sorted({pathlib.Path(file).parent for m in messages for file in m["filenames"]})
    own = [file for m in messages if m["target"]["name"] == "taper" and "dylib" in m["target"]["kind"] for file in m["filenames"]]
    return [f"-Ldependency={folder}" for folder in folders] + [f"--extern=taper={file}" for file in own]


def compile(source, libraries, folder):
    command = ["rustc", "-", *FLAGS, "-o", folder / "cell.o", *libraries]
    return subprocess.run(command, input=source, capture_output=True, text=True)


def source_of(calls):
    line = "#[unsafe(no_mangle)] pub fn c{}({}) {{ let _x = {}; }}\n"
    return HEAD + "".join(line.format(i, parameters, expression) for i, (_, parameters, expression) in calls)


def compiled(calls, libraries, folder):
    """Compiles the calls, and returns the object file and why some calls did not compile."""
    calls, refused = list(calls), []
    while True:
        source = source_of(calls)
        done = compile(source, libraries, folder)
        if done.returncode == 0:
            return Object((folder / "cell.o").read_bytes()), refused
        lines = {int(line) for line in re.findall(r"^ *--> <anon>:(\d+):", done.stderr, re.M)}
        first = HEAD.count("\n") + 1
        wrong = {calls[line - first][0] for line in lines if line >= first}
        if not wrong:
            sys.exit(done.stderr)
        refused += [(call[0], f"does not compile: {call[2]}") for i, call in calls if i in wrong]
        calls = [(i, call) for i, call in calls if i not in wrong]


def milliseconds(call, libraries, folder):
    """Returns rustc's processor time for a cell with this call above an empty cell."""
    def least(source):
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            compile(source, libraries, folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return 1000 * min(times)
    return least(source_of([(0, call)])) - least(source_of([(0, ("", "x: &Tensor", "()"))]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("artifacts", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="fail if a call is larger than its limit, or cannot be derived")
    parser.add_argument("--time", type=int, default=0, metavar="N", help="also measure the N largest calls, and N others")
    options = parser.parse_args()
    derived = list(Crate(options.json).calls()) + [(name, *call) for name, call in EXTRA.items()]
    problems = [(name, why) for name, parameters, why in derived if parameters is None]
    calls = list(enumerate(call for call in derived if call[1] is not None))
    folder, libraries = pathlib.Path(tempfile.mkdtemp()), libraries_in(options.artifacts)
    cell, refused = compiled(calls, libraries, folder)
    problems += refused
    rows = sorted((cell.of(f"c{i}"), call) for i, call in calls if f"c{i}" in cell.defined)
    sizes = [size for size, _ in rows]
    print(f"{len(rows)} calls; median {sizes[len(sizes) // 2]} bytes of code, 99 % {sizes[len(sizes) * 99 // 100]}, largest {sizes[-1]}")
    for size, call in reversed(rows):
        limit, reason = LARGER.get(call[0], (LIMIT, ""))
        if size > limit:
            problems.append((call[0], f"compiles {size} bytes in the cell, the limit is {limit}"))
        if size > LIMIT:
            print(f"{size:7}  {call[0]}{reason and f' ({reason})'}")
    measured = [*rows[-options.time:], *rows[::max(1, len(rows) // options.time)]] if options.time else []
    for size, call in measured:
        print(f"{milliseconds(call, libraries, folder):7.1f} ms, {size} bytes: {call[0]}", flush=True)
    for name, problem in problems:
        print(f"{name}: {problem}")
    if options.check and problems:
        sys.exit(f"{len(problems)} problems: a generic public function is a line over one that is not generic, and types "
            "are dropped, cloned and printed by functions of the crate (crates/tensor/src/erased.rs)")


if __name__ == "__main__":
    main()
