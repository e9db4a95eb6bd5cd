"""Curves: functions and formulas, fitted by least squares."""
