# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is driven through its debugging pipe: no package beyond Python is needed.

Pages are files. Network access is refused, and each attempt is recorded; so is everything that a page writes to its console, and
every dialog that it opens.
"""
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, path):
        self.folder = tempfile.mkdtemp(prefix="whyoom-browser-")
        to_read, self.to_write = os.pipe()
        self.to_listen, from_write = os.pipe()

        def arrange():
            os.dup2(to_read, 3)
            os.dup2(from_write, 4)

        # The root user has no sandbox of its own; the pages are ours.
        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
             "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage", "about:blank"],
            preexec_fn=arrange, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Network.setBlockedURLs", urls=["http://*", "https://*", "ws://*", "wss://*"])

    def read(self, seconds):
        """The next message, or None when time is up."""
        import select
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.to_listen], [], [], left)[0]:
                return None
            piece = os.read(self.to_listen, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(30)
            if answer is None:
                raise RuntimeError(f"{method}: no answer")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            self.number += 1
            message = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": False},
                       "sessionId": event.get("sessionId")}
            os.write(self.to_write, json.dumps(message).encode() + b"\0")

    def send(self, method, **parameters):
        return self.call(method, self.session, **parameters)

    def open(self, path, width=1200, height=900, dark=False, scripts=True, media=""):
        """Loads a file; returns the seconds until it had loaded and drawn."""
        self.events.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        begin = time.monotonic()
        self.send("Page.navigate", url=f"file://{path}")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            event = self.read(60)
            if event is None:
                raise RuntimeError(f"{path}: not loaded")
            self.note(event)
        if scripts:
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - begin

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{expression[:80]}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def key(self, key, code=None, text=None, modifiers=0):
        """Presses and lets go of a key ("ArrowRight", "+"). Modifiers: 1 Alt, 2 Ctrl, 4 Meta, 8 Shift, added up."""
        name = {"key": key, "code": code or key, "modifiers": modifiers}
        number = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Escape": 27, "Home": 36, "End": 35, "Tab": 9}
        if key in number:
            name["windowsVirtualKeyCode"] = number[key]
        typed = text or (key if len(key) == 1 else None)
        self.send("Input.dispatchKeyEvent", type="keyDown", **name, **({"text": typed} if typed else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **name)

    def move(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x, y, dy):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=dy)

    def drag(self, x, y, to_x, to_y):
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=1)
        for part in range(1, 6):
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + (to_x - x) * part / 5, y=y + (to_y - y) * part / 5,
                      button="left", buttons=1)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)

    def picture(self, path, whole=False):
        import base64
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def complaints(self):
        """What no page may do: errors on the console, exceptions, dialogs, requests over the network."""
        found = []
        while True:
            event = self.read(0.05)
            if event is None:
                break
            self.note(event)
        for event in self.events:
            method, given = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                details = given["exceptionDetails"]
                found.append("exception: " + details.get("exception", {}).get("description", details["text"])[:300])
            elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
                found.append("console: " + str(given["args"][:1])[:300])
            elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
                found.append("log: " + given["entry"]["text"][:300])
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + given["message"][:100])
            elif method == "Network.requestWillBeSent" and not given["request"]["url"].startswith(("file:", "data:", "blob:")):
                found.append("request: " + given["request"]["url"][:100])
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.to_listen)
        shutil.rmtree(self.folder, ignore_errors=True)
