"""`slip david --gpu`: what it says where there is no GPU, and a whole session with a fake driver, whose
GPU is the processor (property_tests/gpu/fake_driver.cpp)."""
# test: once

import ctypes
import unittest

from slip_system import BUILD, David, Deployment, SystemTest, write_checkpoint

FAKE = {"LD_LIBRARY_PATH": str(BUILD / "fake_driver")}
FAILING = FAKE | {"FAKE_CUDA_FAILS": "cuLaunchKernel:5"}
HAS_KERNELS = (BUILD / "products_ptx.ptx").exists()


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def with_environment(david, environment):
    david.program = ["env", *(f"{name}={value}" for name, value in environment.items()), *david.program]
    return david


class Refusals:
    """CONV-4: a GPU that cannot be used is bad input, of status 2, and named before anybody listens."""

    def refused_with(self, environment, *says):
        result = self.slip("david", "--artifact", self.artifact / "david", "--listen",
                           "127.0.0.1:0", "--tls", self.tls / "david", "--gpu", status=2,
                           says=["slip david: error: GPU: ", *says], env=environment)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


class NoGpu(Refusals, Deployment):
    """Skipped where there is a driver."""

    def test_without_kernels_or_a_driver(self):
        if not HAS_KERNELS:
            self.refused_with({}, "this build has no kernels")
        elif has_driver():
            self.skipTest("this machine has a driver")
        else:
            self.refused_with({}, "the driver cannot be loaded", "libcuda.so.1")


class WithKernels:
    """Skipped where there are none."""

    def setUp(self):
        if not HAS_KERNELS:
            self.skipTest("built without clang++-19")


class GpuDavid(WithKernels, Refusals, Deployment):
    def test_with_a_driver_that_is_none(self):
        folder = self.folder / "none"
        folder.mkdir()
        (folder / "libcuda.so.1").write_bytes(b"no library")
        self.refused_with({"LD_LIBRARY_PATH": str(folder)}, "the driver cannot be loaded")

    def test_with_a_driver_that_fails(self):
        for call in "cuInit", "cuDeviceGet", "cuModuleLoadData", "cuMemAlloc_v2":
            with self.subTest(call):
                self.refused_with(FAKE | {"FAKE_CUDA_FAILS": call}, f"{call} failed")

    def test_with_an_old_gpu(self):
        self.refused_with(FAKE | {"FAKE_CUDA_CAPABILITY": "7"},
                          "a fake GPU has compute capability 7.0, expected at least 8.0")

    def test_LIN_4_serves_the_unsplit_models_logits(self):
        unsplit, expected = self.generate("unsplit", "--artifact", self.artifact, "--engine",
                                          "unsplit", *self.tail[:-1])
        with with_environment(self.david("--gpu"), FAKE) as david:
            hybrid, logits = self.generate("hybrid", *self.charlie_command(david.endpoint)[1:-1])
        self.assertEqual(hybrid["ids"], unsplit["ids"])
        self.assertEqual(logits, expected)

    def test_a_gpu_that_fails_midway_ends_the_session_and_no_other(self):
        with with_environment(self.david("--gpu"), FAILING) as david:
            self.slip(*self.charlie_command(david.endpoint), status=1,
                      says=["slip generate: error: the session with David failed: "])
            self.assert_served(david.endpoint)
            status, stderr = david.stop()
        self.assertEqual(status, 0, stderr)
        self.assertIn("GPU: cuLaunchKernel failed: CUDA_ERROR_OUT_OF_MEMORY: out of memory", stderr)


class GpuDavidOfHiddenMatrices(WithKernels, SystemTest):
    """HIDE-1: W_t, a matrix per plane, on the GPU; groups of two widths."""

    def test_LIN_4_serves_the_unsplit_models_logits(self):
        model, audit = write_checkpoint(self.folder / "model"), self.folder / "audit"
        artifact, tls = self.folder / "artifact", self.folder / "tls"
        self.slip("split", "--model", model, "--set", "hidden", "--audit", audit, "--out", artifact)
        self.slip("keys", "--out", tls)
        tail = ["--ids", "1,5,9", "--max-tokens", "8"]
        unsplit, expected = self.generate("unsplit", "--artifact", artifact, "--engine", "unsplit",
                                          "--audit", audit, *tail)
        with with_environment(David(artifact / "david", tls / "david", "--gpu"), FAKE) as david:
            hybrid, logits = self.generate(
                "hybrid", "--artifact", artifact, "--engine", "hybrid", "--david", david.endpoint, "--tls",
                tls / "charlie", *tail)
        self.assertEqual(hybrid["ids"], unsplit["ids"])
        self.assertEqual(logits, expected)


if __name__ == "__main__":
    unittest.main()
