"""What Azure's CSV files in data/limits look like."""

from __future__ import annotations

from ioplateau.limits.forms import Form

# The SKU API's raw values stay in data/limits: they were for cross-checking.
VM_CHECKED = frozenset(
    {
        "api2023_uncached_iops",
        "api2023_uncached_bps",
        "api2024_uncached_iops",
        "api2024_uncached_mib_floor",
        "api_cached_temp_iops",
        "api_cached_temp_read_bps",
        "api_cached_temp_write_bps",
        "api_cache_bytes",
    }
)
FORMS = (
    Form(
        "azure_vm_sizes.csv",
        "azure_vm_sizes",
        ("name",),
        columns=(
            "name series family vcpus vcpus_available constrained_vcpu memory_gib "
            "max_data_disks premium_io max_nics network_bandwidth_mbps uncached_iops "
            "uncached_mbps uncached_bps uncached_bps_basis burst_uncached_iops "
            "burst_uncached_mbps uncached_ultra_iops uncached_ultra_mbps "
            "burst_uncached_ultra_iops burst_uncached_ultra_mbps cached_iops cached_mbps "
            "burst_cached_iops burst_cached_mbps cache_size_gib temp_disk_gib temp_iops "
            "temp_read_mbps temp_write_mbps local_nvme_disks local_nvme_disk_gib "
            "local_nvme_read_iops local_nvme_read_mbps local_nvme_write_iops "
            "local_nvme_write_mbps std_iops_per_disk ultra_ssd_available disk_controllers "
            "api2023_uncached_iops api2023_uncached_bps api2024_uncached_iops "
            "api2024_uncached_mib_floor api_cached_temp_iops api_cached_temp_read_bps "
            "api_cached_temp_write_bps api_cache_bytes limits_basis burst_basis cached_basis "
            "sibling_of parent_size in_2026_catalogue doc_source doc_commit doc_date notes"
        ),
        texts=frozenset(
            {
                "series",
                "premium_io",
                "constrained_vcpu",
                "parent_size",
                "disk_controllers",
                "uncached_bps_basis",
                "limits_basis",
                "burst_basis",
                "cached_basis",
                "sibling_of",
                "notes",
                "doc_source",
                "doc_commit",
                "doc_date",
            }
        ),
        dropped=VM_CHECKED
        | {
            "family",
            "memory_gib",
            "max_nics",
            "ultra_ssd_available",
            "in_2026_catalogue",
            # Read by nobody but data/build_catalogue.py.
            "vcpus_available",
            "constrained_vcpu",
            "parent_size",
            "disk_controllers",
            "uncached_bps_basis",
            "burst_basis",
            "cached_basis",
            "sibling_of",
            "doc_source",
            "doc_commit",
            "doc_date",
        },
        date="date",
    ),
    Form(
        "azure_vm_sizes_nvme_controller.csv",
        "azure_vm_sizes_nvme_controller",
        ("name",),
        columns=(
            "name disk_controller uncached_iops uncached_mbps burst_uncached_iops "
            "burst_uncached_mbps uncached_ultra_iops uncached_ultra_mbps "
            "burst_uncached_ultra_iops burst_uncached_ultra_mbps source doc_date"
        ),
        texts=frozenset({"disk_controller"}),
        date="doc_date",
    ),
    Form(
        "azure_write_accelerator.csv",
        "azure_write_accelerator",
        ("name",),
        columns="name disks_max iops source doc_date",
        dropped=frozenset({"disks_max"}),
        date="doc_date",
    ),
    Form(
        "azure_disks.csv",
        "azure_disks",
        ("generation", "sku", "tier"),
        columns=(
            "generation sku tier size_gib_min_exclusive size_gib base_iops base_mbps "
            "burst_iops burst_mbps burst_duration_s burst_kind burst_bucket_ios "
            "burst_bucket_mb ondemand_burst_iops ondemand_burst_mbps perfplus_iops "
            "perfplus_mbps max_shares min_iops max_iops min_mbps max_mbps iops_per_gib "
            "mbps_per_iops max_io_kib_counted_as_one_op formula source"
        ),
        zeros=frozenset({"size_gib_min_exclusive"}),
        texts=frozenset({"burst_kind", "formula"}),
        date="generation",
    ),
)
