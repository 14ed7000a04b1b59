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
        texts=frozenset({"disk_controller"}),
        date="doc_date",
    ),
    Form(
        "azure_disks.csv",
        "azure_disks",
        ("generation", "sku", "tier"),
        texts=frozenset({"burst_kind", "formula"}),
        date="generation",
    ),
)
