"""MLflow: evaluations as runs, model files as registered models that answer as pyfunc.

Nothing is pickled: MLflow keeps our own checked model file and loads it through our own reader.
"""
