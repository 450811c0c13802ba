"""Tasks in processes of their own, their results in order.

Each task has a process that is forked for it: what a solver keeps of one proof must not slow or help another,
so that a proof takes the same work alone as among all."""

import contextlib
import gc
import io
import multiprocessing
import multiprocessing.connection
import os
import signal
import traceback


def processors():
    return len(os.sched_getaffinity(0))


def perform(function, answer):
    """In the forked process: sends (what the function returns, what it prints)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # millions of terms and hardly a cycle
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function()
        except Exception:
            result = None
            traceback.print_exc(file=printed)
    answer.send((result, printed.getvalue()))


def started(function):
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    process = fork.Process(target=perform, args=(function, sending))
    process.start()
    sending.close()  # so that a process that dies is an end of the file here
    return process, receiving


def received(process, receiving):
    try:
        answer = receiving.recv()
    except EOFError:
        answer = None, ""
    receiving.close()
    process.join()
    return answer


def results(functions, jobs):
    """Yields what each function returns, and prints what it prints, in their order: None of one that
    raises an exception, which is printed, and of one whose process dies."""
    functions = list(functions)
    running, answers = {}, {}  # by the place of the function
    gc.collect()
    gc.freeze()  # what there is already, such as images, is not looked through in every process
    try:
        begun = 0
        for number in range(len(functions)):
            while number not in answers:
                while len(running) < jobs and begun < len(functions):
                    running[begun] = started(functions[begun])
                    begun += 1
                ready = multiprocessing.connection.wait([receiving for _, receiving in running.values()])
                for place in [place for place, (_, receiving) in running.items() if receiving in ready]:
                    answers[place] = received(*running.pop(place))
            result, printed = answers.pop(number)
            print(printed, end="", flush=True)
            yield result
    finally:
        gc.unfreeze()
        for process, _ in running.values():
            process.terminate()
