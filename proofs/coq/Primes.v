(* The primes of RING-5, and the set `paper`. Chapter: parameters. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking Planes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition all_primes : seq nat := [:: 251; 241; 239; 233; 229; 227; 223].

Lemma all_primes_prime : all prime all_primes && uniq all_primes.
Proof. by vm_compute. Qed.

(* The first h of them. *)
Definition first_primes (h : nat) (i : 'I_h) : nat := nth 0 all_primes i.

Lemma first_primes_different h : 0 < h <= 7 -> different_primes (@first_primes h).
Proof.
case/andP=> h_gt0 h_le; have /andP[pr un] := all_primes_prime.
have lt (i : 'I_h) : i < size all_primes by apply: leq_trans (ltn_ord i) h_le.
split; [exact: h_gt0|move=> i|move=> i j e]; first exact: (allP pr _ (mem_nth 0 (lt i))).
by apply/val_inj/eqP; rewrite -(nth_uniq 0 (lt i) (lt j) un); apply/eqP.
Qed.

Lemma first_primes_byte h (i : 'I_h) : h <= 7 -> 222 < first_primes i < 256.
Proof.
move=> h_le; have : all (fun q => 222 < q < 256) all_primes by vm_compute.
by move/allP; apply; apply: mem_nth; apply: leq_trans (ltn_ord i) h_le.
Qed.

(* The set `paper`: four primes; the inverses of L / p modulo p. *)
Definition paper : 'I_4 -> nat := @first_primes 4.
Definition paper_inverse (i : 'I_4) : nat := nth 0 [:: 71; 119; 78; 209] i.

Lemma paper_different : different_primes paper.
Proof. exact: first_primes_different. Qed.

Lemma paper_least (i : 'I_4) : 233 <= paper i.
Proof. by case: i => [[|[|[|[|//]]]] lt_i]; vm_compute. Qed.

Lemma paper_modulus : Z.of_nat (modulus paper) = Zpos 3368562317%positive.
Proof.
rewrite /modulus (big_morph Z.of_nat muln_Z (erefl (Z.of_nat 1))) !big_ord_recl big_ord0.
by vm_compute.
Qed.

Lemma paper_inverse_ok (i : 'I_4) : paper_inverse i * (modulus paper %/ paper i) = 1 %[mod paper i].
Proof.
have p_gt0 : 0 < paper i by apply: leq_trans (paper_least i).
apply: Nat2Z.inj; rewrite !remainder_Z // muln_Z quotient_Z // paper_modulus.
by case: i {p_gt0} => [[|[|[|[|//]]]] lt_i]; vm_compute.
Qed.
