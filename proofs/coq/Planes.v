(* Planes: a residue mod a product of primes is its remainders by the primes, one byte each.
   Chapters: ring, linear.

   p i is the prime of plane i, i < h. The modulus is the product of all of them. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The remainder by the prime q, in the field of q elements; the same, entry by entry. *)
Definition plane (L q : nat) (r : 'Z_L) : 'F_q := embed (pdiv q) (r : nat)%:Z.
Definition plane_mx (L q m n : nat) (x : 'M['Z_L]_(m, n)) : 'M['F_q]_(m, n) :=
  map_mx (@plane L q) x.

(* W over the field of q elements. *)
Definition field_mx (q m n : nat) (W : 'M[int]_(m, n)) : 'M['F_q]_(m, n) := embed_mx (pdiv q) W.

(* The product of the primes. *)
Definition modulus (h : nat) (p : 'I_h -> nat) : nat := (\prod_i p i)%N.

(* What is asked of primes: there are some, and they differ. *)
Definition different_primes (h : nat) (p : 'I_h -> nat) : Prop :=
  [/\ (0 < h)%N, forall i, prime (p i) & injective p].

Lemma modulus_gt1 h (p : 'I_h -> nat) : different_primes p -> (1 < modulus p)%N.
Proof.
case=> h_gt0 p_prime _; rewrite /modulus (bigD1 (Ordinal h_gt0)) //=.
apply: leq_trans (prime_gt1 (p_prime (Ordinal h_gt0))) _; rewrite leq_pmulr //.
by apply: prodn_gt0 => i; apply: prime_gt0.
Qed.

(* All planes of a matrix at once. *)
Definition plane_family (h : nat) (p : 'I_h -> nat) (m n : nat) : finType :=
  [finType of {dffun forall i : 'I_h, [finType of 'M['F_(p i)]_(m, n)]}].
Definition planes (h : nat) (p : 'I_h -> nat) (L m n : nat) (x : 'M['Z_L]_(m, n)) :
    plane_family p m n :=
  [ffun i => plane_mx (p i) x].

(* sum_i (r_i inv_i mod p_i) (L / p_i). *)
Definition from_planes (h : nat) (p inv r : 'I_h -> nat) : nat :=
  (\sum_i (r i * inv i %% p i) * (modulus p %/ p i))%N.

Lemma card_family_prod (A : finType) (T : A -> finType) (P : forall a, pred (T a)) :
  #|[pred f : {dffun forall a, T a} | [forall a, P a (f a)]]| = (\prod_a #|P a|)%N.
Proof.
transitivity #|(family P : simpl_pred {dffun forall a, T a})|; first exact: eq_card.
by rewrite card_family foldrE big_map big_enum.
Qed.

Lemma card_ffun_prod (A : finType) (T : A -> finType) :
  #|[finType of {dffun forall a, T a}]| = (\prod_a #|T a|)%N.
Proof. by rewrite card_dep_ffun foldrE big_map big_enum. Qed.

Section Divisors.
Variables (I : eqType) (p : I -> nat).

Lemma coprime_prod (s : seq I) (d : nat) :
  all (fun i => coprime d (p i)) s -> coprime d (\prod_(i <- s) p i)%N.
Proof.
elim: s => [|i s IH] /=; first by rewrite big_nil coprimen1.
by case/andP=> d_i /IH d_s; rewrite big_cons coprimeMr d_i.
Qed.

(* What all of them divide, their product divides. *)
Lemma prod_dvd (s : seq I) (d : nat) : uniq s ->
  (forall i j, i != j -> coprime (p i) (p j)) -> (forall i, p i %| d)%N ->
  (\prod_(i <- s) p i %| d)%N.
Proof.
move=> uniq_s co dvd; elim: s uniq_s => [|i s IH] /=; first by rewrite big_nil dvd1n.
case/andP=> i_new /IH s_dvd; rewrite big_cons Gauss_dvd ?dvd //.
apply: coprime_prod; apply/allP => j j_in; apply: co.
by apply: contraNneq i_new => ->.
Qed.
End Divisors.

Section Field.
Variables (L q : nat).
Hypotheses (L_gt1 : (1 < L)%N) (q_prime : prime q) (q_dvd : (q %| L)%N).

Lemma pdiv_gt1 : (1 < pdiv q)%N.
Proof. by rewrite pdiv_id // prime_gt1. Qed.

Lemma plane_embed v : plane q (embed L v) = embed (pdiv q) v.
Proof.
have L0 : embed (pdiv q) L = 0 by apply/eqP; rewrite (embed_eq0 pdiv_gt1) pdiv_id.
rewrite /plane embed_mod //; move: (v %/ L)%Z (v %% L)%Z (divz_eq v L) => c m ->.
by rewrite embedD embedM L0 mulr0 add0r.
Qed.

Lemma plane_embed_mx m n (A : 'M[int]_(m, n)) : plane_mx q (embed_mx L A) = field_mx q A.
Proof. by apply/matrixP=> i j; rewrite !mxE plane_embed. Qed.

Lemma planeD_mx m n (x y : 'M['Z_L]_(m, n)) : plane_mx q (x + y) = plane_mx q x + plane_mx q y.
Proof.
apply/matrixP=> i j; rewrite !mxE -{1}[x i j](embed_residue _) -{1}[y i j](embed_residue _) //.
by rewrite -embedD plane_embed embedD.
Qed.

(* The plane of David's product is the product of the plane. *)
Lemma plane_product m n b (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) :
  plane_mx q (product W x) = field_mx q W *m plane_mx q x.
Proof.
have -> : x = embed_mx L (map_mx (fun a : 'Z_L => (a : nat)%:Z) x).
  by apply/matrixP=> i j; rewrite !mxE embed_residue.
rewrite /product -embed_mxM // !plane_embed_mx /field_mx embed_mxM //; exact: pdiv_gt1.
Qed.

Lemma plane_sub (r r' : 'Z_L) : plane q r = plane q r' ->
  (q %| (r : nat)%:Z - (r' : nat)%:Z)%Z.
Proof.
move=> e; have : embed (pdiv q) ((r : nat)%:Z - (r' : nat)%:Z) == 0.
  by rewrite embedB subr_eq0; apply/eqP.
by rewrite (embed_eq0 pdiv_gt1) pdiv_id.
Qed.
End Field.

Section Planes.
Variables (h : nat) (p : 'I_h -> nat).
Notation L := (modulus p).
Hypotheses (p_prime : forall i, prime (p i)) (p_inj : injective p) (L_gt1 : (1 < L)%N).

Lemma p_coprime i j : i != j -> coprime (p i) (p j).
Proof.
move=> i_j; rewrite prime_coprime // dvdn_prime2 //; apply: contra i_j => /eqP/p_inj ->.
exact: eqxx.
Qed.

Lemma p_dvd i : (p i %| L)%N.
Proof. by rewrite /modulus (bigD1 i) //= dvdn_mulr. Qed.

Lemma modulus_dvd d : (forall i, p i %| d)%N -> (L %| d)%N.
Proof. by move=> dvd; apply: prod_dvd => //; [exact: index_enum_uniq|exact: p_coprime]. Qed.

(* A residue is known from its planes. *)
Lemma plane_inj (r r' : 'Z_L) : (forall i, plane (p i) r = plane (p i) r') -> r = r'.
Proof.
move=> same; rewrite -(embed_residue r) -(embed_residue r'); apply/eqP.
rewrite -subr_eq0 -embedB embed_eq0 //; rewrite /dvdz; apply: modulus_dvd => i.
exact: (plane_sub (p_prime i) (same i)).
Qed.

Lemma planes_injective m n : injective (@planes h p L m n).
Proof.
move=> x x' /ffunP same; apply/matrixP=> i j; apply: plane_inj => k.
by have /matrixP/(_ i j) := same k; rewrite !ffunE !mxE.
Qed.

Lemma card_plane_family m n : #|plane_family p m n| = (L ^ (m * n))%N.
Proof.
rewrite card_ffun_prod (eq_bigr (fun i => (p i ^ (m * n))%N)) => [|i _].
  rewrite /modulus; apply: esym.
  by apply: (big_morph (fun a => a ^ (m * n))%N) => [a a'|]; rewrite ?expnMn ?exp1n.
by rewrite card_mx card_Fp.
Qed.

(* The Chinese remainders, for all entries of a matrix: to every choice of planes belongs exactly
   one matrix over Z_L. *)
Theorem planes_bijective m n : bijective (@planes h p L m n).
Proof.
apply: inj_card_bij; first exact: planes_injective.
by rewrite card_plane_family card_mx card_Zp_L.
Qed.

(* Uniform planes are a uniform residue. *)
Theorem planes_uniform m n (J : pred (plane_family p m n)) :
  Pr (@uniform [finType of 'M['Z_L]_(m, n)]) (fun x => J (planes p x))
    = Pr (@uniform (plane_family p m n)) J.
Proof.
rewrite /Pr /uniform card_plane_family card_mx card_Zp_L //.
by rewrite [RHS](reindex (@planes h p L m n)) //; exact/onW_bij/planes_bijective.
Qed.

(* The formula of the residue from its bytes. *)
Section Formula.
Variable inv : 'I_h -> nat.
Hypothesis inv_ok : forall i, (inv i * (L %/ p i) = 1 %[mod p i])%N.

Lemma from_planes_mod (r : 'I_h -> nat) i : (from_planes p inv r = r i %[mod p i])%N.
Proof.
rewrite /from_planes (bigD1 i) //= -modnDmr.
have -> : (\sum_(j | j != i) (r j * inv j %% p j) * (L %/ p j) = 0 %[mod p i])%N.
  apply/eqP; rewrite mod0n; apply: dvdn_sum => j j_i.
  rewrite dvdn_mull // /modulus (bigD1 j) //= mulKn ?prime_gt0 //.
  by rewrite (bigD1 i) 1?eq_sym //= dvdn_mulr.
by rewrite mod0n addn0 modnMml -mulnA -modnMmr inv_ok modnMmr muln1.
Qed.

Lemma eq_modulus x y : (forall i, x = y %[mod p i])%N -> (x = y %[mod L])%N.
Proof.
wlog le_yx : x y / (y <= x)%N => [wlog same|same].
  by case: (leqP y x) => [/wlog->//|/ltnW/wlog ->].
by apply/eqP; rewrite eqn_mod_dvd //; apply: modulus_dvd => i; rewrite -eqn_mod_dvd // same.
Qed.

Theorem from_planes_residue (r : nat) : (from_planes p inv (fun i => r %% p i) %% L = r %% L)%N.
Proof. by apply: eq_modulus => i; rewrite from_planes_mod modn_mod. Qed.
End Formula.
End Planes.
