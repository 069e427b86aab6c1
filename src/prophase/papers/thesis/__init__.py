"""The thesis' predictor: memory classified into bins, tuned against under-estimates.

Source: "Designing and implementing a load aware scheduler for machine learning jobs"
(IT 21 100). ``prophase reproduce thesis`` puts its tables beside ours.
"""
