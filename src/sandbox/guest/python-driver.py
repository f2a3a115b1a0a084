# The Python driver of a session: runs pieces of code in sequence, and keeps their variables.
#
# The driver needs only stdin, stdout and stderr, so that it runs wherever Python does. `requests` is a copy of stdin, which
# programs of the session do not see. A request is one line: a nonce, a space, and the code as a JSON string. Both streams end
# with a NUL and the nonce; on stdout, one line of JSON follows that says how the code ended.
#
# A session waits for this file to load: an import of `json`, `signal` and `ast` would take as long as the start of Python.

import os
import sys

# Modules of the session must not replace those that this file imports.
path, sys.path = sys.path, [each for each in sys.path if each != ""]

import builtins
import _ast
import _signal

try:
    from _json import scanstring
except ImportError:
    from json.decoder import scanstring

sys.path = path

CO_COROUTINE = 0x80
CELLS_MAX = 256


class Driver:
    def __init__(self, requests):
        self.requests = requests
        self.pid = os.getpid()
        self.out = os.dup(1)
        self.err = os.dup(2)
        self.running = False
        self.cells = []
        self.count = 0
        self.loop = None
        self.folder = os.path.join(os.getcwd(), "artifacts")
        module = type(sys)("__main__")
        module.__builtins__ = builtins
        sys.modules["__main__"] = module
        sys.argv = [""]
        self.names = module.__dict__
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        # `exit()` closes `sys.stdin`, and must not close the descriptor.
        sys.stdin = open(0, closefd=False)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def serve(self):
        for line in iter(self.requests.readline, b""):
            nonce, _, code = line.decode("utf-8", "surrogatepass").partition(" ")
            self.take_signals()
            ok = self.run(scanstring(code, 1)[0])
            self.flush()
            if os.getpid() != self.pid:
                # The code has forked, and its child has returned from the call.
                os._exit(0)
            self.end(nonce, ok)

    def take_signals(self):
        try:
            _signal.signal(_signal.SIGINT, self.interrupt)
        except (ValueError, AttributeError):
            pass

    def interrupt(self, number, frame):
        if self.running:
            raise KeyboardInterrupt

    def run(self, code):
        self.count += 1
        name = "<cell %d>" % self.count
        self.cells = [*self.cells[1 - CELLS_MAX :], (name, code)]
        try:
            try:
                self.running = True
                self.evaluate(code, name)
            finally:
                self.running = False
            return True
        except SystemExit as end:
            return self.exited(end.code)
        except BaseException as error:
            self.show(error)
            return False

    def evaluate(self, code, name):
        flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, name, "exec", _ast.PyCF_ONLY_AST | flags, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        if tree.body:
            self.execute(compile(tree, name, "exec", flags, True))
        if last is None:
            return
        value = self.execute(compile(_ast.Expression(last.value), name, "eval", flags, True))
        if value is not None:
            self.names["_"] = value
            print(repr(value))

    def execute(self, compiled):
        value = eval(compiled, self.names)
        if not compiled.co_flags & CO_COROUTINE:
            return value
        import asyncio

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)

    def exited(self, code):
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
        return code is None or code == 0

    # The traceback shows lines of earlier code, and omits frames of this file.
    def show(self, error):
        try:
            import linecache
            import traceback

            for name, code in self.cells:
                linecache.cache[name] = (len(code), None, code.splitlines(True), name)
            frames = error.__traceback__
            while frames is not None and self.owns(frames):
                frames = frames.tb_next
            last = frames
            while last is not None:
                if last.tb_next is not None and self.owns(last.tb_next):
                    last.tb_next = None
                last = last.tb_next
            traceback.print_exception(type(error), error, frames)
        except BaseException:
            self.write(self.err, ("%s\n" % type(error).__name__).encode())

    def owns(self, frames):
        return frames.tb_frame.f_code.co_filename == __file__

    def flush(self):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except BaseException:
                pass

    def end(self, nonce, ok):
        words = ["false", "true"]
        state = '{"ok":%s,"artifacts":%s}\n' % (words[ok], words[os.path.isdir(self.folder)])
        mark = b"\0" + nonce.encode()
        self.write(self.err, mark + b"\n")
        self.write(self.out, mark + state.encode())

    def write(self, stream, text):
        while text:
            text = text[os.write(stream, text) :]


Driver(requests).serve()
