"""Tasks in several processes, their results in order."""

import contextlib
import gc
import io
import multiprocessing
import os
import signal
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import terms

tasks = []  # functions, which forked processes know by their places


def processors():
    return len(os.sched_getaffinity(0))


def start():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # millions of terms and hardly a cycle; `perform` collects
    gc.freeze()   # what there is already, such as images, is not looked through again


def perform(number):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = tasks[number]()
        except Exception:
            result = None
            traceback.print_exc(file=printed)
    terms.forget()
    gc.collect()
    return result, printed.getvalue()


def results(functions, jobs):
    """Yields what each function returns, and prints what it prints, in their order: None of one that
    raises an exception, which is printed, and of one whose process dies and all after it."""
    tasks[:] = functions
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, fork, start) as executor:
        try:
            for future in [executor.submit(perform, number) for number in range(len(tasks))]:
                try:
                    result, printed = future.result()
                except BrokenProcessPool:
                    result, printed = None, ""
                print(printed, end="", flush=True)
                yield result
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
