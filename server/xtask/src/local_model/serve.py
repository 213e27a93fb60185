"""llama.cpp's HTTP server from the wheel xllamacpp, on a loopback port that the system gives. Ends with its standard input.

usage: serve.py MODEL.gguf
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 16384
params.n_parallel = 1
params.use_jinja = True
params.cpuparams.n_threads = 2
params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
