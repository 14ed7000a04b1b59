"""What EC2's CSV files in data/limits look like."""

from __future__ import annotations

from ioplateau.limits.forms import Form

FORMS = (
    Form(
        "aws_instance_ebs.csv",
        "aws_instances",
        ("instance_type",),
        columns=(
            "instance_type vcpus memory_mib hypervisor ebs_optimized_default baseline_mbit_s "
            "max_mbit_s baseline_mbps max_mbps baseline_iops max_iops burst_30min_per_24h "
            "network_baseline_mbit_s local_nvme_gib source source_date api_note"
        ),
        texts=frozenset({"hypervisor", "ebs_optimized_default", "burst_30min_per_24h", "api_note"}),
        # MB/s = Mbit/s / 8: kept once, in the unit of the document.
        dropped=frozenset({"memory_mib", "baseline_mbps", "max_mbps"}),
    ),
    Form(
        "aws_ebs_volumes.csv",
        "aws_volumes",
        ("volume_type", "generation"),
        columns=(
            "generation volume_type media min_size_gib max_size_gib base_iops_formula "
            "iops_min iops_max iops_per_gib_max base_mibps_formula mibps_max mibps_per_iops "
            "burst_iops burst_mibps_formula burst_mibps_max burst_bucket_unit "
            "burst_bucket_max burst_bucket_earn burst_bucket_spend burst_duration_formula "
            "max_io_kib_counted_as_one_op notes source source_commit source_date"
        ),
        numbers=frozenset(
            {
                "min_size_gib",
                "max_size_gib",
                "iops_min",
                "iops_max",
                "iops_per_gib_max",
                "mibps_max",
                "mibps_per_iops",
                "burst_iops",
                "burst_mibps_max",
                "max_io_kib_counted_as_one_op",
            }
        ),
        dropped=frozenset({"source_commit"}),
    ),
)
