"""A peer that is as wrong as its first argument says."""

import json
import sys

wrong = sys.argv[1]
case = {}
questions = 0
is_broken = False
for line in sys.stdin:
    asked = json.loads(line)
    word = asked["do"]
    if word == "hello":
        if wrong == "absent":
            answer = {"absent": "it has no library"}
        elif wrong == "dies":
            print("a word before it ends", file=sys.stderr)
            sys.exit(3)
        else:
            answer = {"protocol": 1 if wrong == "old" else 3, "name": "fake", "version": "1.2", "device": asked["device"]}
    elif word == "prepare":
        case = asked["case"]
        questions = 0
        answer = {"skip": "it does not like maxima"} if case["op"] == "max" else {"calls": 3, "cache": "warm: 1 input"}
    elif word == "sample":
        if wrong == "crashes":
            print("out of something", file=sys.stderr)
            sys.exit(4)
        if wrong == "babbles":
            print("hello there", flush=True)
            continue
        questions += 1
        answer = {"ns": [questions if wrong == "counts" else 1234] * asked["samples"]}
    elif word == "poison":
        answer = {"poisoned": True}
    elif word == "result":
        # Ones, added: the only case that it is asked about.
        n = 1
        for d in case["shape"]:
            n *= d
        value = {"value": str(n + 1), "nan": "nan", "infinity": "inf"}.get(wrong, str(n))
        dtype = "f32" if wrong in ("nan", "infinity") else "i64"
        answer = {"dtype": dtype, "outputs": 2 if wrong == "shape" else 1, "values": [value]}
    else:
        answer = {"released": True}
    # Like an error of CUDA, which every later call of the process reports, too.
    if wrong == "breaks":
        is_broken |= case.get("shape") == [100]
        if is_broken and word != "release":
            answer = {"error": "an illegal memory access"}
    print(json.dumps(answer), flush=True)
