"""Runs contenders for kazoo's Lock, or its ReadLock and WriteLock, as the tests of this folder tell it.

A line of input is a command for one contender: its name, a verb, arguments. It is answered by one line, when it has been done:
the name, then "ok" and what there is to say, or "failed" and why. The first line of output says which version of kazoo this
is. The end of the input ends the program, whoever may be waiting.
"""

import os
import queue
import sys
import threading

import kazoo
from kazoo.client import KazooClient

# What kazoo's users are told to pass when others name their znodes as Curator does.
EXTRA_PATTERN = "-lock-"
SESSION_TIMEOUT = 10.0

output = threading.Lock()


def say(*words):
    """Prints words as one line."""
    with output:
        print(*(str(w).replace("\n", " ") for w in words), flush=True)


class Contender:
    """One contender: a session, a lock object, and the thread that uses both."""

    def __init__(self, name):
        self.name = name
        self.client = None
        self.locks = {}  # by whether they are shared
        self.held = None
        self.commands = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            verb, *args = self.commands.get()
            try:
                say(self.name, "ok", getattr(self, "do_" + verb)(*args))
            except Exception as e:
                say(self.name, "failed", repr(e))

    def do_open(self, kind, servers, path):
        self.client = KazooClient(servers, timeout=SESSION_TIMEOUT)
        self.client.start()
        if kind == "kazoo-rw":
            self.locks = {
                "true": self.client.ReadLock(path, self.name),
                "false": self.client.WriteLock(path, self.name),
            }
        else:
            patterns = {"kazoo": (), "kazoo-pattern": (EXTRA_PATTERN,)}[kind]
            self.locks = {"false": self.client.Lock(path, self.name, extra_lock_patterns=patterns)}
        return self.client.client_id[0]

    def do_lock(self, shared):
        self.held = self.locks[shared]
        self.held.acquire()
        return ""

    def do_release(self):
        self.held.release()
        return ""

    def do_close(self):
        self.client.stop()
        self.client.close()
        return ""


def main():
    say("ready", kazoo.__version__)
    contenders = {}
    for line in sys.stdin:
        name, *command = line.split()
        if name not in contenders:
            contenders[name] = Contender(name)
        contenders[name].commands.put(command)
    os._exit(0)


main()
