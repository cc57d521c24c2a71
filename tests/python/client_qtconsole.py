#!/usr/bin/env python3
"""Run a value, a figure and a progress bar in qtconsole without a screen, and print what its document has."""

import sys
import time

from qtconsole.manager import QtKernelManager
from qtconsole.rich_jupyter_widget import RichJupyterWidget
from qtpy.QtWidgets import QApplication

CELLS = ["6 * 7", "plot(&[1.0, 2.0], &[&[1.0, 4.0]])", "for _ in progress(0..3) {}", "\"done\""]


def main() -> int:
    application = QApplication(sys.argv[:1])
    manager = QtKernelManager(kernel_name="taper")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    widget = RichJupyterWidget()
    widget.kernel_manager, widget.kernel_client = manager, client
    finished = []
    widget.executed.connect(finished.append)
    until = time.monotonic() + 60

    def wait(is_done) -> None:
        while not is_done():
            if time.monotonic() > until:
                sys.exit(f"it does not go on after\n{widget._control.toPlainText()}")
            application.processEvents()
            time.sleep(0.01)

    wait(lambda: "In [" in widget._control.toPlainText())
    for cell in CELLS:
        count = len(finished)
        widget.execute(cell)
        wait(lambda: len(finished) > count)
    wait(lambda: "done" in widget._control.toPlainText().rpartition("Out")[2])
    text = widget._control.toPlainText()
    html = widget._control.toHtml()
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    print(text)
    progress = next((line for line in text.splitlines() if "%" in line or "/3" in line), "nothing")
    print(f"values, a figure ({'svg' if '<img' in html else 'no svg'}); of a progress bar it shows {progress.strip()!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
