#!/bin/bash
# Trains NAME on a cluster with Slurm: sbatch jobs/NAME.slurm.sh, in the folder with Cargo.toml.
# Needs Rust, an MPI with mpicc on the PATH (module load openmpi, on many clusters), and libclang.
#SBATCH --job-name=NAME
#SBATCH --output=NAME-%j.log
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@60
set -e
cd "$SLURM_SUBMIT_DIR"
cargo build --release --features mpi --bin NAME
# With an MPI that was built for Slurm, this can be: srun --mpi=pmix target/release/NAME
mpirun -n "$SLURM_NTASKS" target/release/NAME &
# A minute before the time is over, the ranks end after their step, with a checkpoint.
trap "kill -USR1 $!" USR1
wait $! || wait $!
