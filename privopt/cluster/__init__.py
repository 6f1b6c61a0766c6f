"""Work sent to a Dask cluster; needs the packages dask and distributed."""
