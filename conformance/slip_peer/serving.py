"""The honest peers as programs: David who serves an artifact, Charlie who generates."""

import json
import os
import socket

from . import artifact, errors, llama, session, tls, tokens, view


def serve(david, channel):
    """SESS-1: answers frames until the session ends."""
    while not david.dead:
        try:
            data = channel.receive(david.greatest_length())
        except errors.ProtocolError as error:
            if error.clause != "WIRE-9":
                return
            data = bytes(5)  # what is too long is malformed, and is not read (WIRE-9)
        answer = david.receive(data)
        if answer:
            channel.send(answer)


def listen(text):
    host, port = tls.endpoint(text)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def david(arguments):
    """One session after the other."""
    model = artifact.David(arguments.artifact)
    recorder = view.Recorder(arguments.record, model.profile) if arguments.record else None
    with listen(arguments.listen) as listener:
        host, port = listener.getsockname()[:2]
        print(f"listening on {host}:{port}", flush=True)
        served = 0
        while not arguments.sessions or served < arguments.sessions:
            try:
                channel = tls.accept(listener, arguments.tls)
            except errors.ProtocolError as error:
                print(f"slip conform david: {error}", flush=True)
                continue
            one = session.David(model.profile, model.digest, model.weights)
            serve(one, channel)
            channel.close()
            served += 1
            if recorder:
                recorder.add(channel.log, one.shapes)
    return 0


def charlie(arguments):
    """Opens a session and prints what the model generates."""
    model = artifact.Charlie(arguments.artifact)
    ids = [int(word) for word in arguments.ids.split(",")]
    channel = tls.connect(arguments.connect, arguments.tls)
    half = model.david
    one = session.Charlie(channel, half.profile, half.digest, half.weights, os.urandom(32))
    one.hello()
    new = llama.generate(llama.Llama(model, one), ids, arguments.max_tokens,
                         model.config.get("eos_token_id", 2))
    one.close()
    channel.close()
    text = ""
    if model.tokenizer:
        data = model.tokenizer.read_bytes()
        text = tokens.decode(data, ids + new)[len(tokens.decode(data, ids)):]
    print(json.dumps({"ids": new, "text": text, "rounds": one.sequence}))
    return 0
