"""AWS through boto3, which is used here and nowhere else."""
