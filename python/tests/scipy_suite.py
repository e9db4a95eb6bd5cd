"""A plugin of pytest that puts `fitzroy.curve_fit` in the place of SciPy's, for SciPy's own tests.

pytest -p scipy_suite --pyargs scipy.optimize.tests.test_minpack -k TestCurveFit
"""

import scipy.optimize
import scipy.optimize.tests.test_minpack as suite

import fitzroy

suite.curve_fit = fitzroy.curve_fit
scipy.optimize.curve_fit = fitzroy.curve_fit
