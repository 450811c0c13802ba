"""The honest peers as programs: David, who serves an artifact, and Charlie, who generates or
classifies."""

import json
import os
import socket

from . import artifact, cnn, errors, llama, session, tls, tokens, view


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
    recorder = view.Recorder(arguments.record, model.set) if arguments.record else None
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
            one = session.David(model.set, model.digest, model.weights)
            serve(one, channel)
            channel.finish()
            served += 1
            if recorder:
                recorder.add(channel.log, one.shapes)
    return 0


def charlie(arguments):
    """Opens a session and prints what the model makes of the input."""
    model = artifact.Charlie(arguments.artifact)
    work = classify(model, arguments) if model.network else generate(model, arguments)
    channel = tls.connect(arguments.connect, arguments.tls)
    one = session.Charlie(channel, model.set, model.digest, model.weights, model.secret,
                          model.masks(os.urandom(32), os.urandom(32)))
    one.hello()
    result = work(one)
    one.close()
    channel.close()
    print(json.dumps(result | {"rounds": one.sequence}))
    return 0


def generate(model, arguments):
    """A function that generates the tokens after --ids."""
    errors.require(arguments.ids and arguments.max_tokens is not None, "charlie", "MODEL-1",
                   "a language model needs --ids and --max-tokens")
    ids = [int(word) for word in arguments.ids.split(",")]

    def work(one):
        new = llama.generate(llama.Llama(model, one), ids, arguments.max_tokens,
                             model.config.get("eos_token_id", 2))
        text = ""
        if model.tokenizer:
            data = model.tokenizer.read_bytes()
            text = tokens.decode(data, ids + new)[len(tokens.decode(data, ids)):]
        return {"ids": new, "text": text}
    return work


def classify(model, arguments):
    """A function that finds logits and class of every image."""
    errors.require(arguments.images, "charlie", "CNN-6", "a convolutional network needs --images")
    size = model.config["input"]
    errors.require(size["channels"] == 1, "charlie", "CNN-6", "IDX images have one channel")
    images = cnn.read_images(arguments.images, arguments.limit, size["height"], size["width"])

    def work(one):
        logits = cnn.Cnn(model, one).logits(images)
        return {"classes": [row.index(max(row)) for row in logits], "logits": logits}
    return work
