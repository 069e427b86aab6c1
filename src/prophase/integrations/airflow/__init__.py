"""Airflow 3: DAGs made from pipelines and campaigns, and an executor that talks to its REST API."""
