"""A student of the hub: signs in with the form, starts the server, and runs cells as JupyterLab does."""

import json
import re
import time
import uuid

import requests
import websocket

LIMIT = 300
# After how many seconds a server is asked for again.
AGAIN = 15


class Student:
    """One user in a browser."""

    def __init__(self, hub: str, name: str, password: str) -> None:
        self.hub, self.name = hub, name
        self.browser = requests.Session()
        page = self.browser.get(f"{hub}/hub/login", timeout=LIMIT)
        token = re.search(r'name="_xsrf" value="([^"]*)"', page.text)
        form = {"username": name, "password": password, "_xsrf": token[1] if token else ""}
        answer = self.browser.post(f"{hub}/hub/login", data=form, timeout=LIMIT, allow_redirects=False)
        assert answer.status_code == 302, f"{name} cannot sign in: the hub answers {answer.status_code}"

    def start_server(self) -> None:
        """Starts the user's server, and gets a token for it as the hub's page of tokens does."""
        self.browser.get(f"{self.hub}/hub/spawn", timeout=LIMIT)
        cookie = next(c.value for c in self.browser.cookies if c.name == "_xsrf" and c.path.rstrip("/").endswith("/hub"))
        answer = self.browser.post(
            f"{self.hub}/hub/api/users/{self.name}/tokens",
            json={"note": "test"},
            headers={"X-XSRFToken": cookie, "Referer": f"{self.hub}/hub/token"},
            timeout=LIMIT,
        )
        answer.raise_for_status()
        self.token = answer.json()["token"]
        until, again = time.monotonic() + LIMIT, time.monotonic() + AGAIN
        while self.status() != 200:
            assert time.monotonic() < until, f"the server of {self.name} does not start"
            if time.monotonic() > again:
                # The hub refuses while it still ends the last server.
                self.browser.get(f"{self.hub}/hub/spawn", timeout=LIMIT)
                again += AGAIN
            time.sleep(0.3)

    def stop_server(self) -> None:
        """Ends the user's server, and waits until it has ended."""
        url, headers = f"{self.hub}/hub/api/users/{self.name}/server", {"Authorization": f"token {self.token}"}
        requests.delete(url, headers=headers, timeout=LIMIT).raise_for_status()
        until = time.monotonic() + LIMIT
        while self.status() == 200:
            assert time.monotonic() < until, f"the server of {self.name} does not end"
            time.sleep(0.3)

    def status(self) -> int:
        return self.ask("GET", "/api/status", check=False).status_code

    def ask(self, method: str, path: str, check: bool = True, token: str | None = None, **arguments):
        """Sends a request to the user's server."""
        headers = {"Authorization": f"token {token or self.token}"}
        url = f"{self.hub}/user/{self.name}{path}"
        answer = requests.request(
            method, url, headers=headers, timeout=LIMIT, allow_redirects=False, **arguments
        )
        if check:
            answer.raise_for_status()
        return answer

    def start_kernel(self, notebook: str) -> None:
        """Starts a kernel for a notebook, and connects to its channels."""
        session = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"name": "taper"}}
        self.kernel = self.ask("POST", "/api/sessions", json=session).json()["kernel"]["id"]
        self.connect()

    def connect(self) -> None:
        url = f"{self.hub.replace('http', 'ws', 1)}/user/{self.name}/api/kernels/{self.kernel}/channels"
        header = [f"Authorization: token {self.token}"]
        self.socket = websocket.create_connection(url, timeout=LIMIT, header=header)
        self.used = time.monotonic()

    def run(self, code: str) -> tuple[str, str | None]:
        """Runs a cell; returns the text that it shows, and its error."""
        if time.monotonic() - self.used > 15:
            # The server ends a connection whose pings are not answered, and nothing is read between two cells.
            self.socket.close()
            self.connect()
        identity = uuid.uuid4().hex
        content = dict(code=code, silent=False, store_history=True, user_expressions={}, allow_stdin=False)
        header = dict(msg_id=identity, msg_type="execute_request", username="", session="s", version="5.3")
        message = dict(channel="shell", header=header, parent_header={}, metadata={}, content=content, buffers=[])
        self.socket.send(json.dumps(message))
        said, failed = "", None
        while True:
            received = json.loads(self.socket.recv())
            if received["parent_header"].get("msg_id") != identity:
                continue
            kind, content = received["msg_type"], received["content"]
            if kind == "stream":
                said += content["text"]
            elif kind in ("execute_result", "display_data"):
                said += content["data"].get("text/plain", "")
            elif kind == "error":
                failed = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                self.used = time.monotonic()
                return said, failed

    def run_chapter(self, path: str) -> str:
        """Runs all cells of a chapter; returns what they print. Cells tagged `raises-exception` must fail, exercises may."""
        cells = self.ask("GET", f"/api/contents/{path}").json()["content"]["cells"]
        said = ""
        for cell in cells:
            tags = cell["metadata"].get("tags", [])
            if cell["cell_type"] != "code" or "skip-execution" in tags:
                continue
            text, failed = self.run(cell["source"])
            expected = "raises-exception" in tags
            if "exercise" not in tags:
                assert (failed is not None) == expected, f"{self.name}, {cell['id']}: {failed}"
            said += text
        return said
