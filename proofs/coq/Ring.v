(* Residues: the embedding of the integers in Z_L and the centred lift back. Chapter: ring.

   Z_L is 'Z_L of the library: the numbers 0..L-1 with addition and multiplication mod L, for every
   L >= 2. A residue r is its own canonical representative: (r : nat) is the number in 0..L-1. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* embed(v) = v mod L. *)
Definition embed (L : nat) (v : int) : 'Z_L := v%:~R.

(* lift(r) = r if r <= floor((L-1)/2), otherwise r - L. *)
Definition lift (L : nat) (r : 'Z_L) : int :=
  if (r <= (L.-1)./2)%N then (r : nat)%:Z else (r : nat)%:Z - L%:Z.

(* The same, entry by entry. *)
Definition embed_mx (L m n : nat) (A : 'M[int]_(m, n)) : 'M['Z_L]_(m, n) := map_mx (@embed L) A.
Definition lift_mx (L m n : nat) (A : 'M['Z_L]_(m, n)) : 'M[int]_(m, n) := map_mx (@lift L) A.

Section Theory.
Variable L : nat.
Hypothesis L_gt1 : (1 < L)%N.

Lemma card_Zp_L : #|'Z_L| = L.
Proof. by rewrite card_ord Zp_cast. Qed.

Lemma residue_lt (r : 'Z_L) : (r < L)%N.
Proof. by have := ltn_ord r; rewrite [X in (_ < X)%N]Zp_cast. Qed.

Lemma embedD u v : embed L (u + v) = embed L u + embed L v.
Proof. exact: intrD. Qed.
Lemma embedM u v : embed L (u * v) = embed L u * embed L v.
Proof. exact: intrM. Qed.
Lemma embedB u v : embed L (u - v) = embed L u - embed L v.
Proof. exact: rmorphB. Qed.

Lemma embed_L : embed L L = 0.
Proof. by rewrite /embed -pmulrn char_Zp. Qed.

(* The canonical representative of embed(v) is v mod L, for negative v too. *)
Lemma embed_mod v : (embed L v : nat)%:Z = (v %% L)%Z.
Proof.
have L_gt0 : 0 < L%:Z by rewrite ltz_nat ltnW.
rewrite {1}(divz_eq v L) embedD embedM embed_L mulr0 add0r.
have := modz_ge0 v (lt0r_neq0 L_gt0); have := ltz_pmod v L_gt0.
case: (v %% L)%Z => // k; rewrite ltz_nat => lt_kL _.
by rewrite /embed -pmulrn val_Zp_nat // modn_small.
Qed.

Lemma embed_residue (r : 'Z_L) : embed L (r : nat)%:Z = r.
Proof. by rewrite /embed -pmulrn natr_Zp. Qed.

Lemma embed_eq0 v : (embed L v == 0) = (L %| v)%Z.
Proof.
apply/eqP/dvdz_mod0P => [e|]; first by rewrite -embed_mod e.
by rewrite -embed_mod => -[] r0; apply: val_inj.
Qed.

Lemma lift_embedK (r : 'Z_L) : embed L (lift r) = r.
Proof.
by rewrite /lift; case: ifP => _; rewrite ?embedB ?embed_L ?subr0 embed_residue.
Qed.

Lemma half_sum : (L./2 + (L.-1)./2 = L.-1)%N.
Proof.
have := odd_double_half L; have := odd_double_half L.-1; rewrite -!addnn.
have : odd L.-1 = ~~ odd L by case: L L_gt1 => //= k _; rewrite negbK.
by case: (odd L) => -> /=; lia.
Qed.

(* The range of lift is -floor(L/2) .. floor((L-1)/2). *)
Definition in_lift_range (v : int) : bool := - (L./2)%:Z <= v <= ((L.-1)./2)%:Z.

Lemma lift_range (r : 'Z_L) : in_lift_range (lift r).
Proof.
have r_lt := residue_lt r; have sum := half_sum; rewrite /in_lift_range /lift.
by case: (leqP r (L.-1)./2) => r_le; lia.
Qed.

(* Two integers of the range that have the same residue are equal. *)
Lemma embed_inj u v : in_lift_range u -> in_lift_range v -> embed L u = embed L v -> u = v.
Proof.
move=> u_in v_in /eqP; rewrite -subr_eq0 -embedB embed_eq0 => /dvdzP[c].
by have := half_sum; move: u_in v_in; rewrite /in_lift_range; case: c => [[|c]|c]; nia.
Qed.

Theorem lift_embed v : lift (embed L v) = v <-> in_lift_range v.
Proof.
split=> [<-|v_in]; first exact: lift_range.
by apply: embed_inj; rewrite ?lift_range ?lift_embedK.
Qed.

(* For odd L the range is |v| <= (L-1)/2. *)
Lemma in_lift_range_odd v : odd L -> in_lift_range v = (2 * `|v| + 1 <= L%:Z).
Proof.
move=> odd_L; have sum := half_sum; have := odd_double_half L; rewrite odd_L -addnn /=.
by rewrite /in_lift_range => h; apply/idP/idP; lia.
Qed.

(* L >= 2B + 1 suffices for |v| <= B, whether L is odd or even. *)
Lemma in_lift_range_bound (B : nat) v :
  (2 * B + 1 <= L)%N -> `|v| <= B%:Z -> in_lift_range v.
Proof.
move=> L_ge; have := half_sum; have := odd_double_half L; rewrite -addnn /in_lift_range.
by case: (odd L) => /=; lia.
Qed.

(* And it is necessary: if L <= 2B then lift(embed(B)) is not B. *)
Lemma in_lift_range_tight (B : nat) : (L <= 2 * B)%N -> ~~ in_lift_range B%:Z.
Proof.
move=> L_le; have := half_sum; have := odd_double_half L; rewrite -addnn /in_lift_range.
by case: (odd L) => /=; lia.
Qed.

(* The embedding of matrices is compatible with their operations. *)
Lemma embed_mxM m n p (A : 'M[int]_(m, n)) (B : 'M[int]_(n, p)) :
  embed_mx L (A *m B) = embed_mx L A *m embed_mx L B.
Proof. exact: (map_mxM [rmorphism of intr : int -> 'Z_L]). Qed.

Lemma embed_mxD m n (A B : 'M[int]_(m, n)) :
  embed_mx L (A + B) = embed_mx L A + embed_mx L B.
Proof. exact: (map_mxD [rmorphism of intr : int -> 'Z_L]). Qed.

Lemma embed_mxZ m n c (A : 'M[int]_(m, n)) :
  embed_mx L (c *: A) = embed L c *: embed_mx L A.
Proof. by apply/matrixP=> i j; rewrite !mxE embedM. Qed.

Lemma lift_embed_mx m n (A : 'M[int]_(m, n)) :
  lift_mx (embed_mx L A) = A <-> forall i j, in_lift_range (A i j).
Proof.
split=> [eA i j|A_in]; first by rewrite -lift_embed -[RHS]/(A i j) -[in RHS]eA !mxE.
by apply/matrixP=> i j; rewrite !mxE; apply/lift_embed.
Qed.

End Theory.
