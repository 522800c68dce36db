#!/bin/sh
unset NCCL_ALGO
# NCCL_ALGO=Ring was tried, and slower
echo 'torchrun NCCL_PROTO=Simple'
NCCL_DEBUG=INFO torchrun --nproc-per-node=8 train.py
