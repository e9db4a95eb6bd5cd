"""A plugin of pytest that puts Fitzroy's fits in the place of SciPy's, for SciPy's own tests.

pytest -p scipy_suite --pyargs scipy.optimize.tests.test_minpack -k TestCurveFit
pytest -p scipy_suite --pyargs scipy.optimize.tests.test_least_squares
"""

import scipy.optimize
import scipy.optimize.tests.test_least_squares as of_least_squares
import scipy.optimize.tests.test_minpack as of_minpack

import fitzroy

of_minpack.curve_fit = fitzroy.curve_fit
of_minpack.leastsq = fitzroy.leastsq
of_least_squares.least_squares = fitzroy.least_squares
scipy.optimize.curve_fit = fitzroy.curve_fit
