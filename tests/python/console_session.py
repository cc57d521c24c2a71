"""A session in Jupyter's console, typed into a terminal."""

import os
import sys
import unittest

import pexpect

# Code that requests a line of input from the user.
ASK = 'println!("EVCXR_INPUT_REQUEST:{} tea? ", "Your"); let mut tea = String::new(); std::io::stdin().read_line(&mut tea)?; tea.trim().len()'


class Console(unittest.TestCase):
    def setUp(self):
        # The console must not query the terminal, since no terminal emulator answers here.
        environment = os.environ | {"PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "vt100"}
        arguments = ["-m", "jupyter_console", "--kernel", "taper", "--ZMQTerminalInteractiveShell.true_color=False"]
        self.console = pexpect.spawn(
            sys.executable, arguments, env=environment, encoding="utf-8", dimensions=(50, 200), timeout=120
        )
        self.addCleanup(self.console.close, force=True)

    def enter(self, line: str) -> None:
        """Waits for the prompt, which ends by showing the cursor, and types a line."""
        self.console.expect(r"In \[[^\n]*\x1b\[\?25h")
        self.console.send(line + "\r")

    def test_a_session(self):
        console = self.console
        console.expect("Taper .*: deep learning in Rust")
        # The expected output differs from the input, because the terminal shows the input as well.
        self.enter('println!("{}", 6 * 7);')
        console.expect("42\r\n")
        self.enter("1000 + 234")
        console.expect(r"Out\[[^\n]*1234")
        self.enter("fn twice(number: i32) -> i32 {\r2 * number\r}")
        self.enter("twice(4321)")
        console.expect("8642")
        self.enter("let cups: i32 = true;")
        console.expect("mismatched types")
        self.enter(ASK)
        console.expect(r"Your tea\? ")
        console.send("lapsang souchong\r")
        console.expect(r"Out\[[^\n]*16")
        self.enter("quit")
        console.expect(pexpect.EOF)
        console.close()
        self.assertEqual(console.exitstatus, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
