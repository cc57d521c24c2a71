"""Jupyter's own tests of a kernel, with samples for all of their checks."""

import unittest

from jupyter_kernel_test import IopubWelcomeTests, KernelTests
from jupyter_kernel_test.msgspec_v5 import validate_message

from kernel_client import wait_until

# A cell that removes the outputs so far.
CLEAR_OUTPUT = "taper::notebook::clear_output(false);"


class Conformance(KernelTests):
    kernel_name = "taper"
    language_name = "rust"
    file_extension = ".rs"
    code_hello_world = 'println!("hello, world");'
    code_stderr = 'eprintln!("hello, errors");'
    completion_samples = [
        {"text": "try_all_g", "matches": {"try_all_gpus()"}},
        {"text": "manual_", "matches": {"manual_seed("}},
        {"text": '"tea".to_upp', "matches": {"to_uppercase()"}},
        {"text": "no_such_name", "matches": set()},
    ]
    complete_code_samples = ["1 + 1", "let x = 1;", "fn one() -> i32 { 1 }", "// {", '"}"', ":vars", ""]
    incomplete_code_samples = [
        "fn one() -> i32 {",
        "#[derive(Debug)]",
        "vec![1,",
        '"text',
        "/* comment",
        'r#"text"',
        "let x =",
    ]
    invalid_code_samples = [")", "fn one() { 1 ]"]
    code_generate_error = "let x: i32 = true;"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "2 + 3", "result": "5"},
        {"code": '"tea"', "result": '"tea"'},
        {"code": "(1, true)", "result": "(1, true)"},
        {"code": "zeros(2)", "result": "[0., 0.]\nTensor[[2], f32, cpu]"},
    ]
    code_display_data = [
        {"code": 'display(&MimeBundle::text("tea").with("text/html", "<b>tea</b>"));', "mime": mime}
        for mime in ("text/plain", "text/html")
    ]
    # Matches a cell of code_execute_result, which has been run several times by then.
    code_history_pattern = "? * 7"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zeros"
    code_clear_output = CLEAR_OUTPUT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The time limits of these tests assume that the kernel has started.
        cls.kc.execute("", reply=True, timeout=300)

    def test_completion(self):
        # Before the kernel has read the sources, and while the machine is busy, it proposes what it knows without them. So
        # a sample may be asked again, which the inherited test does not do.
        for sample in self.completion_samples:
            with self.subTest(text=sample["text"]):
                found: list[list[str]] = []
                proposed = wait_until(lambda: self.propose(sample, found), 120)
                self.assertTrue(proposed, found)

    def propose(self, sample: dict, found: list[list[str]]) -> bool:
        """Asks once, notes the proposals, and returns whether they equal the sample's."""
        asked = self.kc.complete(sample["text"])
        reply = self.kc.get_shell_msg(timeout=300)
        validate_message(reply, "complete_reply", asked)
        found.append(reply["content"]["matches"])
        return set(found[-1]) == sample["matches"]


class Welcome(IopubWelcomeTests):
    kernel_name = "taper"
    support_iopub_welcome = True


del KernelTests, IopubWelcomeTests


if __name__ == "__main__":
    unittest.main(verbosity=2)
