"""Jupyter's protocol, message by message, with its own client."""

import json
import os
import subprocess
import threading
import time
import unittest
from collections.abc import Callable

import zmq
from jupyter_client.kernelspec import KernelSpecManager
from pygments.lexers import get_lexer_by_name

from kernel_client import LIMIT, Kernel, wait_until

# Code that requests a line of input from the user.
ASK = """
println!("EVCXR_INPUT_REQUEST{kind}:{prompt}");
let mut answer = String::new();
std::io::stdin().read_line(&mut answer)?;
answer.trim().to_owned()
"""


class WithKernel(unittest.TestCase):
    """One kernel for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.addClassCleanup(cls.kernel.stop)


class Questions(WithKernel):
    """Requests that a front end sends while the user types."""

    def test_kernel_info(self):
        for info in [self.kernel.ask("kernel_info").reply, self.control_info()]:
            version = info["implementation_version"]
            language = {
                "name": "rust",
                "version": "2024",
                "mimetype": "text/x-rust",
                "file_extension": ".rs",
                "pygments_lexer": "rust",
                "codemirror_mode": "rust",
                "nbconvert_exporter": None,
            }
            self.assertEqual(info["status"], "ok")
            self.assertEqual(info["protocol_version"], "5.3")
            self.assertEqual(info["implementation"], "taper")
            self.assertEqual(language | info["language_info"], language)
            self.assertIn(f"Taper {version}", info["banner"])
            self.assertIs(info["debugger"], False)
            self.assertNotIn("kernel subshells", info.get("supported_features", []))
            links = {link["text"]: link["url"] for link in info["help_links"]}
            self.assertLessEqual({"Rust", "Candle"}, links.keys())
            self.assertTrue(all(url.startswith("https://") for url in links.values()), links)
            self.assertEqual(get_lexer_by_name(language["pygments_lexer"]).name, "Rust")
        # A kernel without subshells ignores which one a request is for.
        client = self.kernel.client
        request = client.session.msg("kernel_info_request", {})
        request["header"]["subshell_id"] = "1"
        client.shell_channel.send(request)
        self.assertEqual(self.kernel.finish(request["header"]["msg_id"]).reply["status"], "ok")

    def control_info(self) -> dict:
        client = self.kernel.client
        request = client.session.msg("kernel_info_request", {})
        client.control_channel.send(request)
        reply = client.get_control_msg(timeout=60)
        self.assertEqual(reply["parent_header"]["msg_id"], request["header"]["msg_id"])
        while not any(m["content"].get("execution_state") == "idle" for m in self.of(request)):
            self.kernel.read_publication()
        return reply["content"]

    def of(self, request: dict) -> list[dict]:
        return self.kernel.published.get(request["header"]["msg_id"], [])

    def completed(self, code: str, is_done: Callable[[list[str]], bool]) -> dict:
        """Asks until `is_done`: before the kernel has read the sources, it proposes what it knows without them."""
        replies = []

        def ask() -> bool:
            replies.append(self.kernel.ask("complete", code).reply)
            return is_done(replies[-1]["matches"])

        wait_until(ask, 120)
        return replies[-1]

    def test_completion(self):
        for code, text, start, kind, signature in [
            ("let x = try_all_g", "try_all_gpus()", 8, "function", "try_all_gpus() -> Vec<Device>"),
            ("ones(2).sum_a", "sum_all()", 8, "function", "sum_all(&self) -> Tensor"),
            ("🕯; manual_", "manual_seed(", 3, "function", "manual_seed(seed: u64)"),
            ("let t: Tens", "Tensor", 7, "class", "Tensor"),
        ]:
            with self.subTest(code):
                reply = self.completed(code, lambda matches: text in matches)
                self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (start, len(code)))
                self.assertIn(text, reply["matches"])
                typed = reply["metadata"]["_jupyter_types_experimental"]
                self.assertEqual([t["text"] for t in typed], reply["matches"])
                one = typed[reply["matches"].index(text)]
                expected = {"text": text, "type": kind, "signature": signature, "start": start, "end": len(code)}
                self.assertEqual({key: one[key] for key in expected}, expected)
                if kind == "function":
                    result = signature.rpartition(" -> ")[2] if " -> " in signature else ""
                    self.assertTrue(one["documentation"].startswith(f"-> {result}\n" if result else "Sets"))

    def test_completion_in_code_that_is_being_typed(self):
        self.kernel.run("struct Kettle { litres: f64 }\nlet kettle = Kettle { litres: 1.5 };")
        for code in ["vec![kett", 'println!("{}", kett', "f(vec![kett", 'println!("{kett', "struct Net { l: Kett", "fn f() { let a: Kett"]:
            with self.subTest(code):
                name = "Kettle" if "Kett" in code else "kettle"
                self.assertIn(name, self.completed(code, lambda matches: name in matches)["matches"])
        self.assertIn("LazyLinear", self.completed("seq![LazyLin", lambda matches: "LazyLinear" in matches)["matches"])

    def test_completion_includes_names_of_earlier_cells(self):
        self.kernel.run("struct Kettle { litres: f64 }\nlet kettle = Kettle { litres: 1.5 };")
        reply = self.completed("kettle.lit", lambda matches: matches)
        self.assertEqual(reply["matches"], ["litres"])
        self.kernel.run("let trainer = Trainer::new(1);\nlet history = History::default();")
        for code, matches in [("trainer.max_", []), ("history.epo", ["epochs"])]:
            with self.subTest(code):
                reply = self.completed(code, lambda found: found == matches)
                self.assertEqual(reply["matches"], matches)
        nothing = self.kernel.ask("complete", "no_such_name").reply
        self.assertEqual((nothing["status"], nothing["matches"]), ("ok", []))

    def test_completion_while_a_cell_runs(self):
        self.kernel.run("let lengthy_name = vec![1, 2];")
        wait_until(lambda: "lengthy_name" in self.kernel.ask("complete", "lengthy_n", 9).reply["matches"], 60)
        code = 'let until = std::time::Instant::now();\nwhile until.elapsed().as_secs() < 5 { check_interrupt()?; }'
        running = self.kernel.client.execute(code)
        asked = time.monotonic()
        found = self.kernel.ask("complete", "lengthy_n", 9).reply
        self.assertLess(time.monotonic() - asked, 4)
        self.assertIn("lengthy_name", found["matches"])
        self.assertEqual(self.kernel.finish(running).reply["status"], "ok")
        self.kernel.run(":restart")
        self.assertNotIn("lengthy_name", self.kernel.ask("complete", "lengthy_n", 9).reply["matches"])

    def test_inspection(self):
        self.kernel.run("/// Twice as *much*.\nfn twice(number: i32) -> i32 { 2 * number }")
        for code, cursor, signature, words in [
            ("twice", 5, "fn twice(number: i32) -> i32", "Twice as much."),
            ("let x = twice(21)", 10, "fn twice(number: i32) -> i32", "Twice as much."),
            ("zeros((2, 3))", 7, "pub fn zeros(", "f32 zeros in the given shape."),
            ('"tea".to_uppercase()', 9, "pub fn to_uppercase(&self) -> String", "Returns the uppercase"),
        ]:
            for detail in (0, 1):
                with self.subTest(code, detail=detail):
                    reply = self.kernel.ask("inspect", code, cursor, detail).reply
                    self.assertEqual((reply["status"], reply["found"]), ("ok", True))
                    self.assertIn(signature, reply["data"]["text/plain"])
                    self.assertIn(words, reply["data"]["text/plain"])
                    self.assertIn("<p>", reply["data"]["text/html"])
        page = self.kernel.ask("inspect", "twice", 5).reply["data"]["text/html"]
        self.assertIn("<em>much</em>", page)
        self.kernel.run("let tray = zeros((2, 3));")
        value = self.kernel.ask("inspect", "tray", 4).reply["data"]["text/plain"]
        self.assertTrue(value.startswith("tray: Tensor (2, 3) · 24 B · cpu · f32 [0, 0, 0, 0, 0, 0]"), value)
        nothing = self.kernel.ask("inspect", "no_such_name", 5).reply
        self.assertEqual(nothing, {"status": "ok", "found": False, "data": {}, "metadata": {}})

    def test_is_complete(self):
        for code, status, indent in [
            ("let x = 1;", "complete", ""),
            ("vec![1, 2]", "complete", ""),
            ("fn f() {", "incomplete", "    "),
            ("fn f()", "incomplete", ""),
            ("impl X {\nfn f() {", "incomplete", "        "),
            ("#[derive(Debug)]", "incomplete", ""),
            ("/// A kettle.", "incomplete", ""),
            ("f(1,", "incomplete", "    "),
            ('"text', "incomplete", ""),
            ("/* text", "incomplete", ""),
            ("let x =", "incomplete", ""),
            ("f(1]", "invalid", ""),
            ("}", "invalid", ""),
        ]:
            with self.subTest(code):
                reply = self.kernel.ask("is_complete", code).reply
                self.assertEqual((reply["status"], reply.get("indent", "")), (status, indent))

    def test_comms(self):
        self.assertEqual(self.kernel.ask("comm_info").reply, {"status": "ok", "comms": {}})
        client = self.kernel.client
        content = {"comm_id": "1", "target_name": "jupyter.widget", "data": {}}
        request = client.session.msg("comm_open", content)
        client.shell_channel.send(request)
        closed = self.kernel.wait_for_output(request["header"]["msg_id"], "comm_close")
        self.assertEqual(closed["content"], {"comm_id": "1", "data": {}})


class Widgets(WithKernel):
    """A slider, as Jupyter's widgets describe it, and the panel of variables."""

    VIEW = "application/vnd.jupyter.widget-view+json"

    def test_a_slider_calls_the_callback(self):
        self.kernel.run("let kept = 7;")
        callback = '|x| if x > 0.9 { panic!("too far") } else { Ok(x * 2.0) }'
        cell = self.kernel.run(f'interact(slider("x", 0.0..=1.0), {callback});')
        opened = next(message for message in cell.published if message["msg_type"] == "comm_open")
        self.assertEqual(opened["metadata"], {"version": "2.1.0"})
        self.assertEqual(opened["content"]["target_name"], "jupyter.widget")
        state = opened["content"]["data"]["state"]
        self.assertEqual((state["min"], state["max"], state["value"]), (0.0, 1.0, 0.5))
        self.assertEqual(state["_model_name"], "FloatSliderModel")
        comm = opened["content"]["comm_id"]
        view, shown = [m["content"]["data"] for m in cell.published if m["msg_type"] == "display_data"]
        self.assertEqual(view[self.VIEW], {"model_id": comm, "version_major": 2, "version_minor": 0})
        self.assertEqual(shown["text/plain"], "1.0")
        for value, text in [(0.25, "0.5"), (0.95, "Panic: too far"), (0.75, "1.5")]:
            data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
            request = self.send("comm_msg", {"comm_id": comm, "data": data})
            updated = self.kernel.wait_for_output(request, "update_display_data")
            self.assertEqual(updated["content"]["data"]["text/plain"], text)
        self.assertEqual(self.kernel.run("kept").value(), "7")

    def test_a_drawing_calls_the_callback(self):
        cell = self.kernel.run("interact(drawing(2), |image| Ok(image.sum_all().item()));")
        states = {m["content"]["comm_id"]: m["content"]["data"]["state"] for m in cell.published if m["msg_type"] == "comm_open"}
        (comm,) = [id for id, state in states.items() if state["_model_name"] == "TextareaModel"]
        (page,) = [state["value"] for state in states.values() if state["_model_name"] == "HTMLModel"]
        self.assertIn(states[comm]["_dom_classes"][0], page)
        for value, text in [("0.5 1 0 0", "1.5"), ("1 text", "1.0"), ("", "0.0")]:
            data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
            request = self.send("comm_msg", {"comm_id": comm, "data": data})
            updated = self.kernel.wait_for_output(request, "update_display_data")
            self.assertEqual(updated["content"]["data"]["text/plain"], text)

    def send(self, kind: str, content: dict, metadata: dict | None = None) -> str:
        request = self.kernel.client.session.msg(kind, content, metadata=metadata)
        self.kernel.client.shell_channel.send(request)
        return request["header"]["msg_id"]

    def test_the_kernel_sends_the_stale_cells(self):
        comm = {"comm_id": "marks", "target_name": "taper.stale", "data": {"cells": ["a", "b"]}}
        opened = self.kernel.wait_for_output(self.send("comm_open", comm), "comm_msg")
        knows = os.environ.get("TAPER_ENGINE") != "evcxr"
        self.assertEqual(opened["content"], {"comm_id": "marks", "data": {"stale": [] if knows else None}})
        for cell, code in [("a", "let width = 1;"), ("b", "width + 1"), ("a", "let width = 2;")]:
            content = {"code": code, "silent": False, "store_history": True}
            ran = self.kernel.finish(self.send("execute_request", content, {"cellId": cell}))
        state = [message["content"]["data"] for message in ran.published if message["msg_type"] == "comm_msg"]
        self.assertEqual(state[:2], [{"compiling": "a"}, {"running": "a"}])
        state = state[2:]
        if knows:
            [stale] = state[0].pop("stale")
            number = ran.reply["execution_count"]
            self.assertEqual((stale["id"], stale["number"], stale["line"]), ("b", number - 1, "width + 1"))
            self.assertEqual(stale["reasons"], [f"`width` was defined again by cell [{number}]"])
        else:
            self.assertEqual(state, [{"stale": None}])
        self.send("comm_close", {"comm_id": "marks", "data": {}})
        self.assertNotIn("comm_msg", [kind for kind, *_ in self.kernel.run("width").outline()])

    def test_the_panel_lists_the_variables(self):
        self.kernel.run("let rate = 0.5; let name = String::from(\"a\");")
        self.assertTrue(self.debug("initialize")["success"])
        self.assertTrue(self.debug("debugInfo")["body"]["isStarted"])
        variables = self.debug("inspectVariables")["body"]["variables"]
        types = {variable["name"]: variable["type"] for variable in variables}
        self.assertEqual((types["rate"], types["name"]), ("f64", "String"))
        # From now on, the kernel also evaluates the variables after each cell.
        self.kernel.run("let x = ones((2, 3));")
        variables = self.debug("inspectVariables")["body"]["variables"]
        values = {variable["name"]: variable["value"] for variable in variables}
        self.assertEqual(values["x"], "Tensor (2, 3) · 24 B · cpu · f32 [1, 1, 1, 1, 1, 1]")
        self.assertEqual((values["rate"], values["name"]), ("f64 0.5 · 8 B", 'String (1,) · 1 B · "a"'))
        self.assertFalse(self.debug("stackTrace")["success"])

    def test_the_parts_of_variables_are_listed(self):
        self.debug("initialize")
        self.kernel.run("#[derive(Debug)]\nstruct Point { at: [i32; 2], name: String }")
        self.kernel.run("let point = Point { at: [1, 2], name: \"a, b\".into() };\nlet rows = ones((2, 3));\nlet net = Linear::new(4, 2);")
        parts = lambda name: self.parts(self.debug("inspectVariables")["body"]["variables"], name)
        self.assertEqual([(part["name"], part["value"]) for part in parts("point")], [("at", "[1, 2]"), ("name", '"a, b"')])
        self.assertEqual([part["value"] for part in self.parts(parts("point"), "at")], ["1", "2"])
        self.assertEqual([part["value"] for part in parts("rows")], ["[1, 1, 1]"] * 2)
        self.assertEqual([(part["name"], part["value"]) for part in parts("net")], [("weight", "(2, 4) f32"), ("bias", "(2,) f32")])

    def parts(self, variables: list[dict], name: str) -> list[dict]:
        [reference] = [variable["variablesReference"] for variable in variables if variable["name"] == name]
        return self.debug("variables", {"variablesReference": reference})["body"]["variables"]

    def debug(self, command: str, arguments: dict | None = None) -> dict:
        client = self.kernel.client
        content = {"type": "request", "seq": 1, "command": command, "arguments": arguments or {}}
        request = client.session.msg("debug_request", content)
        client.control_channel.send(request)
        return client.get_control_msg(timeout=60)["content"]


class Subscribers(WithKernel):
    """Twenty front ends, one of which never reads."""

    DISPLAYS = 5000

    def test_a_subscriber_that_never_reads_holds_up_nobody(self):
        context = zmq.Context()
        address = self.kernel.manager._make_url("iopub")
        silent, *others = [context.socket(zmq.SUB) for _ in range(20)]
        silent.set(zmq.RCVHWM, 10)
        silent.set(zmq.RCVBUF, 1024)
        for socket in [silent, *others]:
            socket.set(zmq.LINGER, 0)
            socket.subscribe(b"")
            socket.connect(address)
        for socket in others:
            self.wait_for_welcome(socket)
        code = f'for i in 0..{self.DISPLAYS} {{ display(&MimeBundle::text(format!("{{i}}"))); }}'
        threads = [Counter(socket) for socket in others]
        cell = self.kernel.run(code)
        shown = [m["content"]["data"]["text/plain"] for m in cell.published if m["msg_type"] == "display_data"]
        self.assertEqual(shown, [str(i) for i in range(self.DISPLAYS)])
        for thread in threads:
            thread.join()
            self.assertEqual(thread.seen, shown)
        self.assertEqual(self.kernel.run("1 + 1").value(), "2")
        context.destroy()

    def wait_for_welcome(self, socket: zmq.Socket) -> None:
        """Subscriptions arrive some time after `connect`: asks until an answer is seen."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            self.kernel.client.kernel_info()
            if socket.poll(200):
                return
        self.fail("a subscriber sees nothing")


class Counter(threading.Thread):
    """Collects the texts that a subscriber receives, until the cell's end."""

    def __init__(self, socket: zmq.Socket) -> None:
        super().__init__(daemon=True)
        self.socket = socket
        self.seen: list[str] = []
        self.start()

    def run(self) -> None:
        is_over = False
        while not is_over and self.socket.poll(LIMIT * 1000):
            parts = self.socket.recv_multipart()
            header, _, _, content = (json.loads(part) for part in parts[parts.index(b"<IDS|MSG>") + 2 :][:4])
            if header["msg_type"] == "display_data":
                self.seen.append(content["data"]["text/plain"])
            is_idle = header["msg_type"] == "status" and content["execution_state"] == "idle"
            is_over = is_idle and bool(self.seen)


class Cells(WithKernel):
    """Running code."""

    def test_everything_arrives_in_order(self):
        cell = self.kernel.run(
            'println!("a");\neprintln!("b");\ndisplay(&MimeBundle::text("c"));\nprint!("d");\n5'
        )
        count = cell.reply["execution_count"]
        expected = [
            ("execute_input", count),
            ("stdout", "a\n"),
            ("stderr", "b\n"),
            ("display_data", "c"),
            ("stdout", "d"),
            ("execute_result", "5"),
        ]
        self.assertEqual(cell.outline(), expected)
        expected = {"status": "ok", "execution_count": count, "user_expressions": {}, "payload": []}
        self.assertEqual(cell.reply, expected)
        self.assertEqual(self.kernel.run("1").reply["execution_count"], count + 1)

    def test_the_reply_contains_the_published_error(self):
        for code, name, words in [
            ("let x: i32 = true;", "CompileError", "mismatched types"),
            ('panic!("cold tea");', "Panic", "cold tea"),
            ('"two".parse::<i32>()?;', "Error", "invalid digit found in string"),
        ]:
            with self.subTest(code):
                cell = self.kernel.run(code)
                shown = cell.published[-1]["content"]
                self.assertEqual(cell.reply["status"], "error")
                self.assertIn(words, cell.reply["evalue"])
                self.assertEqual({name: cell.reply[name] for name in shown}, shown)
                self.assertEqual(shown["ename"], name)
                self.assertTrue(shown["traceback"])

    def test_a_silent_cell_is_run_and_publishes_nothing(self):
        before = self.kernel.run("1").reply["execution_count"]
        silent = self.kernel.run('let quiet = 3;\nprintln!("never");\n7', silent=True)
        self.assertEqual((silent.reply["status"], silent.outline()), ("ok", []))
        after = self.kernel.run("quiet")
        self.assertEqual((after.value(), after.reply["execution_count"]), ("3", before + 1))

    def test_a_cell_without_store_history(self):
        before = self.kernel.run("1").reply["execution_count"]
        unstored = self.kernel.run("40 + 2", store_history=False)
        self.assertEqual(unstored.value(), "42")
        self.assertEqual(unstored.reply["execution_count"], before + 1)
        self.assertEqual(self.kernel.run("2").reply["execution_count"], before + 1)
        tail = self.kernel.ask("history", hist_access_type="tail", n=2).reply["history"]
        self.assertEqual([entry[2] for entry in tail], ["1", "2"])

    def test_history(self):
        first = self.kernel.run("let pot = 7;").reply["execution_count"]
        for code in ["pot * 11", "pot * 12", "pot * 12"]:
            self.kernel.run(code)
        inputs = ["let pot = 7;", "pot * 11", "pot * 12", "pot * 12"]
        entries = [[1, first + n, code] for n, code in enumerate(inputs)]

        def history(kind: str, **options) -> list:
            return self.kernel.ask("history", hist_access_type=kind, **options).reply["history"]

        self.assertEqual(history("tail", n=4), entries)
        with_values = [[*entries[1][:2], ["pot * 11", "77"]]]
        self.assertEqual(history("range", start=first + 1, stop=first + 2, output=True), with_values)
        self.assertEqual(history("range", session=0, start=first, stop=first + 3), entries[:3])
        self.assertEqual(history("range", session=7, start=0, stop=99), [])
        self.assertEqual(history("search", pattern="pot * 1?"), entries[1:])
        self.assertEqual(history("search", pattern="pot * 1?", unique=True), [entries[1], entries[3]])
        self.assertEqual(history("search", pattern="pot * 1?", n=1), [entries[3]])

    def test_user_expressions(self):
        expressions = {
            "sum": "cups + 1",
            "shown": 'println!("never");\ndisplay(&MimeBundle::text("never"));\n"tea"',
            "nothing": "let unused = 1;",
            "wrong": "no_such_name",
            "panics": 'panic!("cold")',
        }
        cell = self.kernel.run("let cups = 2;\ncups", user_expressions=expressions)
        count = cell.reply["execution_count"]
        self.assertEqual(cell.outline(), [("execute_input", count), ("execute_result", "2")])
        values = cell.reply["user_expressions"]
        self.assertEqual(values.keys(), expressions.keys())
        ok = {"status": "ok", "metadata": {}}
        self.assertEqual(values["sum"], ok | {"data": {"text/plain": "3"}})
        self.assertEqual(values["shown"], ok | {"data": {"text/plain": '"tea"'}})
        self.assertEqual(values["nothing"], ok | {"data": {}})
        self.assertEqual((values["wrong"]["status"], values["wrong"]["ename"]), ("error", "CompileError"))
        self.assertIn("no_such_name", values["wrong"]["evalue"])
        self.assertEqual((values["panics"]["ename"], values["panics"]["evalue"]), ("Panic", "cold"))
        self.assertEqual(cell.reply["status"], "ok")

        failed = self.kernel.run("no_such_name", user_expressions={"one": "1"}).reply
        self.assertEqual((failed["status"], failed.get("user_expressions") or {}), ("error", {}))
        silent = self.kernel.run("", silent=True, user_expressions={"cups": "cups"})
        self.assertEqual(silent.reply["user_expressions"]["cups"]["data"], {"text/plain": "2"})
        self.assertEqual(silent.outline(), [])

    def test_input(self):
        for kind, password in [("", False), ("_PASSWORD", True)]:
            request = self.kernel.client.execute(ASK.format(kind=kind, prompt="Tea: "), allow_stdin=True)
            question = self.kernel.client.get_stdin_msg(timeout=60)
            self.assertEqual(question["msg_type"], "input_request")
            self.assertEqual(question["parent_header"]["msg_id"], request)
            self.assertEqual(question["content"], {"prompt": "Tea: ", "password": password})
            self.kernel.client.input("green 🍵")
            self.assertEqual(self.kernel.finish(request).value(), '"green 🍵"')
        request = self.kernel.client.execute('taper::notebook::read_password("Key: ")?', allow_stdin=True)
        question = self.kernel.client.get_stdin_msg(timeout=60)
        self.assertEqual(question["content"], {"prompt": "Key: ", "password": True})
        self.kernel.client.input("öpen")
        self.assertEqual(self.kernel.finish(request).value(), '"öpen"')
        nobody = self.kernel.run(ASK.format(kind="", prompt="Tea? "), allow_stdin=False)
        self.assertEqual((nobody.reply["status"], nobody.value()), ("ok", '""'))

    def test_a_line_of_standard_input(self):
        read = "let mut line = String::new();\nstd::io::stdin().read_line(&mut line)?;\nline"
        request = self.kernel.client.execute(f'print!("Tea? ");\n{read}', allow_stdin=True)
        question = self.kernel.client.get_stdin_msg(timeout=60)
        self.assertEqual(question["content"], {"prompt": "Tea? ", "password": False})
        self.kernel.client.input("green: 🍵")
        answered = self.kernel.finish(request)
        self.assertEqual(answered.value(), '"green: 🍵\\n"')
        self.assertNotIn(("stdout", "Tea? "), answered.outline())
        self.assertEqual(self.kernel.run(read, allow_stdin=False).value(), '""')

    def test_an_interrupt_while_a_cell_waits_for_input_keeps_the_variables(self):
        self.kernel.run("let poured = 3;")
        request = self.kernel.client.execute(
            "std::io::stdin().read_line(&mut String::new())?;", allow_stdin=True
        )
        self.kernel.client.get_stdin_msg(timeout=60)
        self.kernel.manager.interrupt_kernel()
        stopped = self.kernel.finish(request)
        self.assertEqual((stopped.reply["status"], stopped.reply["ename"]), ("error", "Interrupted"))
        self.assertEqual(self.kernel.run("poured").value(), "3")

    @unittest.skipIf(subprocess.run(["rustfmt", "--version"], capture_output=True).returncode, "this Rust has no rustfmt")
    def test_formatted_code_takes_the_place_of_the_cell(self):
        reply = self.kernel.run("%fmt\nlet x=1 ;").reply
        payload = [{"source": "set_next_input", "text": "let x = 1;", "replace": True}]
        self.assertEqual((reply["status"], reply["payload"]), ("ok", payload))

    def test_requests_after_a_failure_are_aborted(self):
        wait = "std::thread::sleep(std::time::Duration::from_millis(500));\n"
        send = self.kernel.client.execute
        failing, *waiting = [send(code) for code in [f'{wait}panic!("cold");', "1", "2"]]
        failed = self.kernel.finish(failing)
        self.assertEqual(failed.reply["status"], "error")
        for request in waiting:
            aborted = self.kernel.finish(request)
            self.assertEqual((aborted.reply["status"], aborted.outline()), ("aborted", []))
        count = self.kernel.run("3").reply["execution_count"]
        self.assertEqual(count, failed.reply["execution_count"] + 1)

        failing = send(f'{wait}panic!("cold");', stop_on_error=False)
        waiting = send("4")
        self.assertEqual(self.kernel.finish(failing).reply["status"], "error")
        self.assertEqual(self.kernel.finish(waiting).value(), "4")

    def test_an_interrupt_keeps_the_variables(self):
        self.kernel.run("let kept = 5;")
        self.assertEqual(KernelSpecManager().get_kernel_spec("taper").interrupt_mode, "message")
        request = self.kernel.client.execute('println!("on");\nwhile !interrupted() {}')
        self.kernel.wait_for_output(request, "stream")
        self.kernel.manager.interrupt_kernel()
        stopped = self.kernel.finish(request)
        self.assertEqual((stopped.reply["status"], stopped.reply["ename"]), ("error", "Interrupted"))
        self.assertEqual(self.kernel.run("kept").value(), "5")


class Ends(unittest.TestCase):
    """Shutdown and restart."""

    def test_restart_removes_the_variables(self):
        with Kernel() as kernel:
            kernel.run("let x = 1;")
            first = kernel.pid
            kernel.manager.restart_kernel()
            kernel.client.wait_for_ready(timeout=300)
            cell = kernel.run("x")
            self.assertEqual((cell.reply["status"], cell.reply["execution_count"]), ("error", 1))
            self.assertNotEqual(kernel.pid, first)

    def test_shutdown_on_either_channel(self):
        for channel in ["control_channel", "shell_channel"]:
            with self.subTest(channel), Kernel() as kernel:
                client = kernel.client
                request = client.session.msg("shutdown_request", {"restart": True})
                getattr(client, channel).send(request)
                reply = getattr(client, channel).get_msg(timeout=60)
                self.assertEqual(reply["msg_type"], "shutdown_reply")
                self.assertEqual(reply["parent_header"]["msg_id"], request["header"]["msg_id"])
                self.assertEqual(reply["content"], {"status": "ok", "restart": True})
                self.assertTrue(wait_until(lambda: not kernel.manager.is_alive()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
