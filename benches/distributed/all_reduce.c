// Prints the shortest time of MPI's own all-reduce in some repeats, in seconds, for the comparison with Taper's: with
// two arrays, as in the usual benchmarks, and in place, which is faster for long arrays.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, sizes[] = {1, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22};
    int repeats = argc > 1 ? atoi(argv[1]) : 50;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6; i++) {
        float *values = malloc(sizes[i] * sizeof(float)), *sums = malloc(sizes[i] * sizeof(float));
        for (int j = 0; j < sizes[i]; j++) values[j] = 1, sums[j] = 0;
        double best[2] = {1e9, 1e9};
        for (int j = 0; j < 2 * repeats; j++) {
            int in_place = j / repeats;
            for (int k = 0; k < sizes[i] && in_place; k++) sums[k] = 1;
            double began = MPI_Wtime();
            MPI_Allreduce(in_place ? MPI_IN_PLACE : values, sums, sizes[i], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            double took = MPI_Wtime() - began;
            if (took < best[in_place]) best[in_place] = took;
        }
        if (rank == 0) printf("all_reduce %d %.9f %.9f\n", sizes[i], best[0], best[1]);
        free(values), free(sums);
    }
    MPI_Finalize();
}
