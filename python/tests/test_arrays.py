"""Arrays of other libraries are taken wherever NumPy's are."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import fitzroy as fz
from fitzroy.arrays import host


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


X = np.linspace(0, 4, 60)
Y = decay(X, 2.0, 1.3, 0.5) + 0.1 * np.random.default_rng(1).normal(size=60)
SIGMA = np.linspace(0.05, 0.2, 60)


class Foreign:
    """An array that only DLPack opens, as NumPy's own exports itself."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **kwargs):
        return self.values.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array__(self, *_, **__):
        raise AssertionError("it lies in memory that can be shared")


class OnGpu:
    """An array of CuPy's manners: no conversion that nobody asked for."""

    copies = 0

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **_):
        raise BufferError("this memory is that of a GPU")

    def __dlpack_device__(self):
        return (2, 0)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self):
        OnGpu.copies += 1
        return self.values


class Tensor(OnGpu):
    """A tensor of PyTorch's manners, part of a graph of derivatives and on a GPU."""

    get = None

    def __init__(self, values, free=False):
        super().__init__(values)
        self.free = free

    def __dlpack_device__(self):
        if not self.free:
            raise BufferError("Can't export tensors that require gradient")
        return (2, 0)

    def detach(self):
        return Tensor(self.values, free=True)

    def cpu(self):
        OnGpu.copies += 1
        return self.values


def of_jax(values):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        return jax.numpy.asarray(values)


KINDS = [Foreign, OnGpu, Tensor, of_jax]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_that_of_numpy(kind):
    x, y, sigma = kind(X), kind(Y), kind(SIGMA)
    given = dict(p0=[2, 1, 0], bounds=([0, 0, -1], [9, 9, 9]))
    there = dict(p0=kind([2.0, 1.0, 0.0]), bounds=(kind([0.0, 0, -1]), kind([9.0, 9, 9])))
    want = fz.curve_fit(decay, X, Y, sigma=SIGMA, **given)
    for one, two in zip(fz.curve_fit(decay, x, y, sigma=sigma, **there), want):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(
        fz.nlsq.curve_fit(decay, x, y, sigma=sigma, **there).popt, want[0]
    )
    want = fz.CurveFit(decay).fit(X, Y, SIGMA)
    for curve, at in [(decay, x), ("a*exp(-b*x)+c", x), ("a*exp(-b*x)+c", {"x": x})]:
        found = fz.CurveFit(curve).fit(at, y, sigma)
        np.testing.assert_allclose(found.popt, want.popt, rtol=1e-9)
        band = found.predict(at if isinstance(at, dict) else kind(X[:2])).se
        np.testing.assert_allclose(band[:2], want.predict(X[:2]).se, rtol=1e-9)
    many = fz.CurveFit(decay).fit_many(x, kind(np.stack([Y, Y])), p0=[2, 1, 0])
    np.testing.assert_allclose(many.popt[1], fz.curve_fit(decay, X, Y)[0], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_a_model_are_those_of_numpy(kind):
    pytest.importorskip("xarray")
    model = fz.Model("data y[n]\nmu ~ Normal(0, 5)\ny ~ Normal(mu, 1)")
    given = dict(draws=50, tune=100, random_seed=1, progressbar=False)
    with pytest.warns(fz.ConvergenceWarning):
        want = model.sample({"y": Y}, **given).posterior["mu"].values
        found = model.sample({"y": kind(Y)}, initvals=None, **given).posterior["mu"].values
    np.testing.assert_array_equal(found, want)


def test_what_lies_here_is_shared_and_what_lies_on_a_gpu_is_copied_once():
    shared = host(Foreign(X))
    assert np.shares_memory(shared, X) and host(X) is X
    assert host([1.0]) == [1.0] and host("x") == "x"
    before = OnGpu.copies
    host(OnGpu(X)), host(Tensor(X))
    assert OnGpu.copies == before + 2
    array = of_jax(X)
    assert host(array).ctypes.data == array.unsafe_buffer_pointer()

    class Locked(OnGpu):
        get = None

    with pytest.raises(
        TypeError, match="Locked on a device cannot be copied to this side: Implicit"
    ):
        host(Locked(X))


def test_types_that_numpy_does_not_have_become_numbers():
    jax = pytest.importorskip("jax")
    low = jax.numpy.asarray(X, dtype="bfloat16")
    np.testing.assert_allclose(np.asarray(host(low), dtype=float), X, rtol=1e-2)


def test_functions_of_other_libraries_are_called_with_their_arrays():
    def by_kind(x, a, b, c):
        assert isinstance(x, Foreign), "it has no other"
        return Foreign(decay(x.values, a, b, c))

    with pytest.warns(fz.UntracedWarning):
        found = fz.curve_fit(by_kind, Foreign(X), Foreign(Y), p0=[1, 1, 0])[0]
    np.testing.assert_allclose(found, fz.curve_fit(decay, X, Y)[0], rtol=1e-6)


def one(shift):
    return fz.curve_fit(decay, X, Y + shift, p0=[2, 1, 0])[0]


#: Fits in a child after threads of the library have been at work, and in the parent.
FORKS = """
import os, pickle, sys, numpy as np
f, x, y = pickle.load(sys.stdin.buffer)
f = pickle.loads(f)
fits = lambda: f.fit_many(x, np.stack([y] * 300), p0=[2, 1, 0]).converged.all()
assert fits()
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        os._exit(7 if fits() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print(f.fit(x, y).popt.tolist())
"""


def test_forks_threads_and_processes_go_on():
    want = [one(s) for s in range(4)]
    found = {}
    threads = [threading.Thread(target=lambda s=s: found.update({s: one(s)})) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal([found[s] for s in range(4)], want)
    # In a process of its own: JAX does not like to be forked.
    given = pickle.dumps((pickle.dumps(fz.CurveFit("a*exp(-b*x)+c")), X, Y))
    out = subprocess.run(
        [sys.executable, "-c", FORKS], input=given, capture_output=True, check=True
    )
    np.testing.assert_allclose(eval(out.stdout), want[0], rtol=1e-9)
    joblib = pytest.importorskip("joblib")
    out = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(one)(s) for s in range(4))
    np.testing.assert_array_equal(out, want)
