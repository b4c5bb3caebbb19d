"""What the Python GPU tests share: hashes of results, printed so that two runs can be compared bit by bit."""
import os
import struct
import sys
import warnings

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")


def skip(why):
    print(f"# {why}")
    sys.exit(77)


def need(name):
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as error:
        skip(f"no {name}: {error}")


def bits(value):
    """A number's bits in single precision."""
    return struct.pack(">f", value).hex()


def device():
    """The device of the PyTorch tests: a GPU, or what AUTOGRAPH_TEST_DEVICE names (to try the tests themselves)."""
    torch = need("torch")
    name = os.environ.get("AUTOGRAPH_TEST_DEVICE", "cuda")
    if name == "cuda" and not torch.cuda.is_available():
        skip("PyTorch sees no GPU")
    torch.manual_seed(7)
    warnings.simplefilter("ignore")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    return name


def tensor_hash(tensors):
    """A hash of the bytes of all tensors."""
    import hashlib
    import torch
    total = hashlib.sha256()
    for t in tensors:
        total.update(t.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()[:32]
