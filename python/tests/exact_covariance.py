"""The covariance of a fit in 40 digits, for `test_scipy.py`. Needs mpmath."""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
rng = np.random.default_rng(408113519974467917)
x = np.linspace(0, 4, 50)
# As SciPy's test makes its data, in double precision.
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.2 * rng.normal(size=50)
x, y = [mp.mpf(float(v)) for v in x], [mp.mpf(float(v)) for v in y]
theta = mp.matrix([2.5, 1.3, 0.5])
while True:
    jacobian, residuals = mp.matrix(50, 3), mp.matrix(50, 1)
    for i in range(50):
        e = mp.e ** (-theta[1] * x[i])
        jacobian[i, 0], jacobian[i, 1], jacobian[i, 2] = e, -theta[0] * x[i] * e, 1
        residuals[i] = theta[0] * e + theta[2] - y[i]
    step = mp.lu_solve(jacobian.T * jacobian, -(jacobian.T * residuals))
    theta += step
    if mp.norm(step) < mp.mpf("1e-35"):
        break
covariance = (jacobian.T * jacobian) ** -1 * (residuals.T * residuals)[0] / 47
for i in range(3):
    print([mp.nstr(covariance[i, j], 17) for j in range(3)])
