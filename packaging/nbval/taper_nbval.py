"""Lets nbval compare a live display in its last state, which is the one in the notebook. nbval alone ignores updates."""

from nbformat import NotebookNode
from nbval.plugin import IPyNbFile

receive = IPyNbFile.get_kernel_message


def get_kernel_message(self, timeout=None, stream="iopub"):
    """Returns the next message that is not an update, and applies the updates before it to what nbval has kept."""
    displays = self.__dict__.setdefault("displays", {})
    while True:
        message = receive(self, timeout, stream)
        kind, content = message["msg_type"], message["content"]
        display = (content.get("transient") or {}).get("display_id")
        if kind == "update_display_data":
            if display in displays:
                displays[display].clear()
                displays[display].update(content["data"])
            continue
        if kind == "display_data" and display:
            # nbval keeps this very object, because it is of the type that notebooks consist of.
            content["data"] = displays[display] = NotebookNode(content["data"])
        return message


IPyNbFile.get_kernel_message = get_kernel_message
